"""Partitions that draw sizes and shares: Dirichlet by device and by class, ExDir, quantity skew."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.partitions.base import apportion, deal, evenly, first_success, holdings, quotas, shares, whole
from edgefl.learning.partitions.classwise import cut, cut_until
from edgefl.learning.partitions.dirichlet import Dirichlet
from edgefl.learning.partitions.dirichlet_by_class import DirichletByClass
from edgefl.learning.partitions.exdir import ExDir, allocation
from edgefl.learning.partitions.iid import Iid
from edgefl.learning.partitions.quantity_skew import QuantitySkew
from edgefl.runs.data_division import divide
from edgefl.scenario import load

LABELS = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 100))
UNEVEN = np.random.default_rng(2).permutation(np.repeat([0, 3, 4, 9], [500, 7, 30, 60]))
TRUE_PARTITIONS = [
    Iid(stratified=True),
    QuantitySkew(),
    QuantitySkew(alpha=1e-300),
    Dirichlet(size_sigma=1.0),
    Dirichlet(size_sigma=100.0),
    DirichletByClass(),
    DirichletByClass(alpha=1e-300),
    DirichletByClass(alpha=1e308),
    DirichletByClass(balanced=True),
    DirichletByClass(alpha=5, balanced=True, min_samples=10),
    ExDir(classes=2, min_samples=1),
    ExDir(classes=4, alpha=0.5, min_samples=1),
]


def rng(seed=1):
    return Streams(seed).generator("partition")


def counts(parts, labels=LABELS):
    return np.array([np.bincount(labels[part], minlength=labels.max() + 1) for part in parts])


@pytest.mark.parametrize("labels", [LABELS, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("partition", TRUE_PARTITIONS, ids=str)
def test_each_sample_is_held_once_no_device_is_empty_and_the_seed_decides(partition, labels):
    parts, again, other = (partition.split(labels, 20, rng(seed)) for seed in (1, 1, 2))
    assert len(parts) == 20
    assert min(len(part) for part in parts) >= 1
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
    assert [part.tolist() for part in parts] == [part.tolist() for part in again]
    assert [part.tolist() for part in parts] != [part.tolist() for part in other]


@pytest.mark.parametrize("partition", TRUE_PARTITIONS, ids=str)
def test_more_devices_than_samples(partition):
    with pytest.raises(InputError, match=r"^devices\.count: 1001 devices cannot share 1000 training samples"):
        partition.split(LABELS, 1001, rng())


@pytest.mark.oracle
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(any), st.integers(0, 3000))
def test_apportioned_sizes_add_up_and_are_near_the_weights(weights, more):
    samples = len(weights) + more
    w = np.array(weights)
    sizes = apportion(w, samples)
    assert sizes.sum() == samples
    assert np.abs(sizes - 1 - more * w / w.sum()).max() < 1 + 1e-6


@pytest.mark.oracle
@given(st.integers(1, 50), st.integers(0, 500))
def test_even_sizes(count, samples):
    assert evenly(samples, count).tolist() == [len(part) for part in np.array_split(np.arange(samples), count)]


@pytest.mark.oracle
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(0, 3))
def test_a_table_is_dealt_as_it_says(rows, unused):
    table = np.array(rows)
    sizes = table.sum(axis=1) + unused
    labels = np.repeat(np.arange(len(rows)), sizes)
    pools = [np.flatnonzero(labels == label) for label in range(len(rows))]
    if (table.sum(axis=0) == 0).any():
        with pytest.raises(
            InputError, match=r"^devices\.count: 3 devices are too many for this partition: \d would get nothing"
        ):
            deal(pools, table)
        return
    parts = deal(pools, table)
    assert len(set(np.concatenate(parts).tolist())) == table.sum()
    held = np.array([np.bincount(labels[part], minlength=len(rows)) for part in parts])
    assert held.T.tolist() == table.tolist()


def test_whole_numbers_survive_rounding():
    assert [whole(0.29 * 100), whole(0.6 * 10), whole(1.5), whole(55 * 0.2)] == [29, 6, 1, 11]


def test_holdings():
    columns = holdings(np.array([2, 0, 2, 5]), [np.array([0, 2, 3]), np.array([1, 1])])
    assert columns == {"device": [0, 0, 1], "label": [2, 5, 0], "samples": [2, 1, 2]}


def test_a_draw_that_never_succeeds():
    with pytest.raises(InputError, match=r"^what: why \(3 draws\)$"):
        first_success(lambda: None, "what: why", 3)


class TestSizes:
    def test_stratified_devices_differ_by_one_sample_of_a_class(self):
        held = counts(Iid(stratified=True).split(UNEVEN, 20, rng()), UNEVEN)
        assert (held.max(axis=0) - held.min(axis=0) <= 1).all()
        assert np.ptp(held.sum(axis=1)) <= 1

    def test_stratified_is_exact_where_it_divides(self):
        assert (counts(Iid(stratified=True).split(LABELS, 20, rng())) == 5).all()

    @pytest.mark.oracle
    def test_quantity_skew_follows_the_dirichlet_law(self):
        """E[p^2] = (alpha + 1) / (N (N alpha + 1)); 100 draws of 20 shares, standard error 4 %."""
        alpha = 0.5
        labels = np.zeros(100_000, int)
        sizes = [[len(part) for part in QuantitySkew(alpha=alpha).split(labels, 20, rng(seed))] for seed in range(100)]
        second = np.mean((np.array(sizes) / len(labels)) ** 2)
        assert second == pytest.approx((alpha + 1) / (20 * (20 * alpha + 1)), rel=0.15)

    def test_quantity_skew_does_not_skew_labels(self):
        labels = np.random.default_rng(3).permutation(np.repeat(np.arange(4), 5000))
        held = counts(QuantitySkew(alpha=5.0).split(labels, 20, rng()), labels)
        assert stats.chi2_contingency(held).pvalue > 0.01
        assert np.ptp(held.sum(axis=1)) > 500

    @pytest.mark.oracle
    def test_lognormal_sizes(self):
        """Sizes are lognormal(log(n / N), sigma) up to a common factor."""
        labels = np.repeat(np.arange(10), 20_000)
        logs = np.log([len(part) for part in Dirichlet(size_sigma=0.5).split(labels, 400, rng())])
        assert logs.std(ddof=1) == pytest.approx(0.5, rel=0.12)
        assert stats.kstest((logs - logs.mean()) / 0.5, "norm").pvalue > 0.01

    @pytest.mark.oracle
    def test_sizes_leave_the_class_mixes_as_they_were(self):
        """Every device's mix still has E[p^2] = (alpha + 1) / (K (K alpha + 1)); devices of 100 samples and more."""
        labels = np.repeat(np.arange(5), 20_000)
        alpha = 0.5
        held = counts(Dirichlet(alpha=alpha, size_sigma=0.5).split(labels, 400, rng()), labels)
        sizes = held.sum(axis=1, keepdims=True)
        second = (held * (held - 1) / (sizes * (sizes - 1))).mean()
        assert second == pytest.approx((alpha + 1) / (5 * (5 * alpha + 1)), rel=0.1)

    def test_equal_sizes_where_no_sigma_is_given(self):
        assert {len(part) for part in Dirichlet().split(LABELS, 20, rng())} == {50}


class TestCut:
    SIZES = np.array([1000, 700, 33])

    def test_rows_add_up_and_strangers_get_nothing(self):
        owners = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
        for seed in range(50):
            table = cut(self.SIZES, owners, 0.1, 100.0, rng(seed))
            assert table.sum(axis=1).tolist() == self.SIZES.tolist()
            assert (table >= 0).all()
            assert not table[~owners].any()

    def test_a_large_alpha_cuts_evenly_among_owners(self):
        owners = np.array([[1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
        table = cut(self.SIZES, owners, 1e12, np.inf, rng())
        assert table[0].tolist() == pytest.approx([500, 0, 500, 0], abs=1)
        assert table[1].tolist() == pytest.approx([233, 233, 233, 0], abs=1)

    def test_a_full_device_gets_no_more_samples(self):
        """Two devices, two classes of 10, room 10: after an uneven first cut the second goes whole to the other."""
        for seed in range(20):
            table = cut(np.array([11, 10]), np.full((2, 2), True), 0.5, 10.0, rng(seed))
            if table[0].max() >= 10:
                assert table[1, table[0].argmax()] == 0
                break
        else:
            pytest.fail("no uneven cut in 20")

    def test_all_full_share_nevertheless(self):
        table = cut(np.array([10, 10]), np.full((2, 1), True), 1.0, 5.0, rng())
        assert table.tolist() == [[10], [10]]

    def test_shares_follow_the_dirichlet_law(self):
        """E[p^2] = (alpha + 1) / (N (N alpha + 1)) over 200 classes."""
        alpha = 0.3
        count = 8
        table = cut(np.full(200, 100_000), np.full((200, count), True), alpha, np.inf, rng())
        assert np.mean((table / 1e5) ** 2) == pytest.approx((alpha + 1) / (count * (count * alpha + 1)), rel=0.1)

    def test_shares_without_weight_are_equal(self):
        among = np.array([True, False, True])
        assert shares(1e308, among, rng()).tolist() == [0.5, 0, 0.5]

    def test_sizes_are_drawn_again_until_each_device_has_enough(self):
        everybody = np.full((3, 10), True)
        assert any(cut(self.SIZES, everybody, 0.5, np.inf, rng(s)).sum(axis=0).min() < 40 for s in range(5))
        assert all(cut_until(40, self.SIZES, everybody, 0.5, np.inf, rng(s)).sum(axis=0).min() >= 40 for s in range(5))


class TestDirichletByClass:
    def test_a_device_with_its_fair_share_gets_no_more_classes(self):
        """Classes come in turn: a device that gets some of a class had less than n / N samples of those before it."""
        for seed in range(20):
            held = counts(DirichletByClass(alpha=0.3, balanced=True, min_samples=1).split(LABELS, 10, rng(seed)))
            before = np.cumsum(held, axis=1) - held
            assert before[held > 0].max() < 100
            free = counts(DirichletByClass(alpha=0.3, min_samples=1).split(LABELS, 10, rng(seed)))
            assert (np.cumsum(free, axis=1) - free)[free > 0].max() > 100

    def test_a_small_alpha_gives_classes_whole(self):
        """Ten classes go to ten random devices at most; each of the others has a single sample."""
        parts = DirichletByClass(alpha=1e-300).split(LABELS, 50, rng())
        held = counts(parts)
        assert sorted(np.sort(held.sum(axis=1))[:40].tolist()) == [1] * 40
        assert ((held > 1).sum(axis=0) == 1).all()

    def test_least_samples(self):
        parts = DirichletByClass(alpha=1.0, min_samples=10).split(LABELS, 20, rng())
        assert min(len(part) for part in parts) >= 10

    @pytest.mark.oracle
    @pytest.mark.parametrize(
        ("partition", "reason"),
        [
            (DirichletByClass(min_samples=51), "20 devices cannot have 51 each of 1000 training samples"),
            (DirichletByClass(alpha=1e-300, min_samples=40), "no draw gave every device 40 samples"),
            (ExDir(classes=2, alpha=1e-300, min_samples=40), "no draw gave every device 40 samples"),
        ],
    )
    def test_too_much_asked_for(self, partition, reason):
        with pytest.raises(InputError) as caught:
            partition.split(LABELS, 20, rng())
        assert str(caught.value).startswith(f"data.partition.min_samples: {reason}")


class TestExDir:
    @pytest.mark.parametrize(("each", "count"), [(1, 500), (2, 500), (2, 1000), (10, 7), (1, 10)])
    def test_allocation(self, each, count):
        """C classes a device, each class with a fifth of its mean number of devices at least, and one."""
        for seed in range(5):
            owners = allocation(each, 10, count, rng(seed))
            assert (owners.sum(axis=0) == each).all()
            assert owners.sum(axis=1).min() >= max(each * count // 10 // 5, 1)

    def test_allocation_is_uniform(self):
        owners = np.array([allocation(2, 5, 40, rng(seed)).sum(axis=1) for seed in range(100)])
        assert stats.chisquare(owners.sum(axis=0)).pvalue > 0.01

    @pytest.mark.parametrize("classes", [1, 2])
    def test_the_paper_s_setting(self, classes):
        """500 devices, alpha 10, MNIST's size: no device has more than C classes or fewer than 10 samples."""
        labels = np.random.default_rng(4).permutation(np.repeat(np.arange(10), 6000))
        held = counts(ExDir(classes=classes).split(labels, 500, rng()), labels)
        assert (held > 0).sum(axis=1).max() <= classes
        assert (held > 0).sum(axis=1).mean() > 0.95 * classes
        assert held.sum(axis=1).min() >= 10

    def test_a_device_with_its_fair_share_gets_no_more_classes(self):
        for seed in range(10):
            held = counts(ExDir(classes=4, alpha=0.5, min_samples=1).split(LABELS, 20, rng(seed)))
            before = np.cumsum(held, axis=1) - held
            assert before[held > 0].max() < 50

    def test_a_large_alpha_cuts_each_class_evenly_among_its_devices(self):
        held = counts(ExDir(classes=1, alpha=1e12, min_samples=1).split(LABELS, 20, rng()))
        for column in held.T:
            assert np.ptp(column[column > 0]) <= 2  # either end of a cut is rounded down

    @pytest.mark.parametrize(
        ("each", "count", "reason"),
        [
            (11, 20, "11 classes a device, but there are only 10"),
            (2, 4, "4 devices with 2 classes each cannot hold all 10 classes"),
        ],
    )
    def test_impossible_allocations(self, each, count, reason):
        with pytest.raises(InputError) as caught:
            ExDir(classes=each).split(LABELS, count, rng())
        assert str(caught.value) == f"data.partition.classes: {reason}"


def test_quotas_are_even():
    assert quotas(10, 4).tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize(("alpha", "mean", "least", "most"), [(1, 0, 0, 0), (0.1, 2.8, 1, 5), (0.01, 230.4, 205, 254)])
def test_how_many_devices_come_away_with_nothing(alpha, mean, least, most):
    """The docs' figures: CIFAR-10's ten classes of 5,000 samples, 500 devices, ten seeds; each then gets one sample."""
    empty = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for _ in range(10):
            rng.permutation(5_000)
        table = cut(np.full(10, 5_000), np.full((10, 500), True), alpha, math.inf, rng)
        empty.append(int((table.sum(axis=0) == 0).sum()))
    assert (np.mean(empty), min(empty), max(empty)) == (mean, least, most)
    parts = DirichletByClass(alpha=alpha).split(np.repeat(np.arange(10), 5_000), 500, np.random.default_rng(0))
    assert sum(len(part) == 1 for part in parts) >= empty[0]


@pytest.mark.parametrize("kind", ["iid", "dirichlet", "dirichlet_by_class", "exdir", "quantity_skew"])
def test_far_too_many_devices_are_refused_before_anything_is_made_for_each(kind):
    scenario = load({"devices": {"count": 50_000_000}, "data": {"partition": kind}})
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"^devices\.count: 50000000 devices cannot share 1438 training samples"):
            divide(scenario)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # a byte for each device
    finally:
        tracemalloc.stop()
