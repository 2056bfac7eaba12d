"""Partitions by sets of labels: the labels and samples of each device, and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.partitions import PARTITIONS, label_overlap, partial_overlap
from edgefl.learning.partitions.distinct import Distinct
from edgefl.learning.partitions.half import Half
from edgefl.learning.partitions.label_overlap import LabelOverlap, fill
from edgefl.learning.partitions.labels import ListedLabels
from edgefl.learning.partitions.natural import Natural
from edgefl.learning.partitions.partial_overlap import PartialOverlap
from edgefl.learning.partitions.shards import Shards
from edgefl.learning.partitions.two_class import TwoClass
from edgefl.learning.partitions.two_shard import TwoShard

LABELS = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 100))
UNEVEN = np.random.default_rng(2).permutation(np.repeat(np.arange(10), np.arange(90, 110, 2)))
HUNDRED = np.random.default_rng(3).permutation(np.repeat(np.arange(100), 20))
TWO_HUNDRED = np.random.default_rng(4).permutation(np.repeat(np.arange(200), 20))


def rng(seed=1):
    return Streams(seed).generator("partition")


def counts(parts, labels=LABELS):
    return np.array([np.bincount(labels[part], minlength=labels.max() + 1) for part in parts])


def held(partition, labels=LABELS, count=10, seed=1):
    return counts(partition.split(labels, count, rng(seed)), labels)


def refusal(partition, labels=LABELS, count=10):
    with pytest.raises(InputError) as caught:
        partition.split(labels, count, rng())
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("labels", [LABELS, UNEVEN, HUNDRED], ids=["even", "uneven", "hundred"])
@pytest.mark.parametrize(
    "partition", [Shards(), Shards(per_device=5), TwoShard(), PartialOverlap(), Distinct()], ids=str
)
def test_every_sample_is_held_once(partition, labels):
    parts = partition.split(labels, 10, rng())
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))


@pytest.mark.parametrize("name", PARTITIONS.members)
def test_every_partition_says_where_it_comes_from(name):
    line = PARTITIONS.summary(name)
    assert line.endswith(").")
    assert any(word in line for word in ("paper", "AISTATS", "ICLR", "ICML", "ICDE", "arXiv", "sequential-FL"))


@pytest.mark.parametrize("partition", [Shards(), TwoClass(), TwoShard(), LabelOverlap()], ids=str)
def test_the_seed_decides(partition):
    first, again, other = (held(partition, seed=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other


class TestShards:
    def test_two_equal_shards_each(self):
        """The paper's MNIST in small: 2 N shards of n / 2 N, each of one class, so at most two classes a device."""
        table = held(Shards(), count=50)
        assert set(table.sum(axis=1).tolist()) == {20}
        assert set(table.ravel().tolist()) == {0, 10, 20}
        assert (table > 0).sum(axis=1).max() == 2

    def test_shards_are_dealt_at_random(self):
        """Both shards of a device are of one class with probability 9 / 99; 50 seeds of 50 devices."""
        same = [(held(Shards(), count=50, seed=seed) == 20).sum() for seed in range(50)]
        assert stats.binomtest(int(np.sum(same)), 2500, 9 / 99).pvalue > 0.01

    def test_too_many(self):
        text = "2 shards for each of 501 devices are more than 1000 training samples"
        assert refusal(Shards(), count=501) == f"data.partition.per_device: {text}"


class TestTwoClass:
    @pytest.mark.parametrize("chunks", [None, 20])
    def test_two_classes_each_in_equal_chunks(self, chunks):
        """A class gives (min class size - 1) / 21 samples a chunk, and has 21 chunks."""
        labels = np.repeat(np.arange(10), 500)
        table = held(TwoClass(chunks=chunks), labels, 100)
        assert set(table.ravel().tolist()) == {0, 499 // (chunks or 21)}
        assert ((table > 0).sum(axis=1) == 2).all()
        assert (table > 0).sum(axis=0).max() <= (chunks or 21)

    def test_sizes_are_equal_where_classes_are_not(self):
        table = held(TwoClass(), UNEVEN, 10)
        assert set(table.ravel().tolist()) == {0, 89 // 3}

    def test_no_sample_is_held_twice(self):
        parts = np.concatenate(TwoClass().split(UNEVEN, 10, rng()))
        assert len(set(parts.tolist())) == len(parts)

    @pytest.mark.oracle
    def test_every_class_is_as_likely(self):
        tables = np.array([(held(TwoClass(), count=5, seed=seed) > 0).sum(axis=0) for seed in range(200)])
        assert stats.chisquare(tables.sum(axis=0)).pvalue > 0.01

    @pytest.mark.parametrize(
        ("labels", "count", "chunks", "reason"),
        [
            (np.zeros(50, int), 5, None, "data.partition: two_class needs two classes a device, but there is only one"),
            (LABELS, 100, 19, "data.partition.chunks: 10 classes in 19 chunks each are too few for two chunks each of"),
            (LABELS, 500, None, "data.partition.chunks: the smallest class, 100 samples, is too small for 101 chunks"),
        ],
    )
    def test_impossible(self, labels, count, chunks, reason):
        assert refusal(TwoClass(chunks=chunks), labels, count).startswith(reason)


class TestTwoShard:
    @pytest.mark.parametrize(
        ("labels", "count", "batch", "each"),
        [(LABELS, 10, None, 2), (HUNDRED, 10, None, 20), (TWO_HUNDRED, 20, None, 20), (TWO_HUNDRED, 20, 1, 20)],
        ids=["10", "100", "200 in batches", "200"],
    )
    def test_labels_a_device_are_the_paper_s(self, labels, count, batch, each):
        """2 of 10 labels, 20 of 100 and of 200, half of each label's samples, every label at two devices."""
        table = held(TwoShard(batch=batch), labels, count)
        assert ((table > 0).sum(axis=1) == each).all()
        assert ((table > 0).sum(axis=0) == 2).all()
        assert set(table.ravel().tolist()) == {0, np.bincount(labels)[0] // 2}

    def test_batches_stay_together(self):
        """Ten labels that go to the same two devices, ten times."""
        patterns, sizes = np.unique(held(TwoShard(), HUNDRED) > 0, axis=1, return_counts=True)
        assert (sizes % 10 == 0).all()
        assert patterns.shape[1] <= 10

    @pytest.mark.oracle
    def test_batches_are_drawn(self):
        """Two labels are in one batch of ten with probability 9 / 99; 300 seeds."""
        together = 0
        for seed in range(300):
            table = held(TwoShard(), HUNDRED, seed=seed)
            together += (table[:, 3] == table[:, 4]).all()
        assert together < 80  # other batches go to the same two devices in one of 45 cases
        assert together > 5

    def test_odd_classes_are_halved_to_one_sample(self):
        labels = np.repeat(np.arange(4), 5)
        assert np.sort(held(TwoShard(), labels, 4), axis=0)[2:].tolist() == [[2] * 4, [3] * 4]

    @pytest.mark.parametrize(
        ("count", "batch", "reason"),
        [
            (3, None, "data.partition.batch: 10 classes in batches of 3, halved, give 3 devices no equal shares"),
            (10, 5, "data.partition.batch: 10 classes in batches of 5, halved, give 10 devices no equal shares"),
            (
                1,
                None,
                (
                    "data.partition: the halves of a label go to two devices, but there is only one: "
                    "set devices.count to 2 or more"
                ),
            ),
        ],
    )
    def test_impossible(self, count, batch, reason):
        assert refusal(TwoShard(batch=batch), count=count) == reason


class TestHalf:
    @pytest.mark.parametrize(("count", "sizes"), [(10, (20, 20)), (7, (33, 25))])
    def test_half_the_labels_to_half_the_devices(self, count, sizes):
        """Each has all labels of its half, floor(n_c / devices of the half) samples of each."""
        table = held(Half(), count=count)
        assert (table[: count // 2, :5] == sizes[0]).all()
        assert (table[count // 2 :, 5:] == sizes[1]).all()
        assert table.sum() == 5 * sizes[0] * (count // 2) + 5 * sizes[1] * (count - count // 2)

    def test_the_first_samples_go_to_the_first_device(self):
        assert [part.tolist() for part in Half().split(np.array([1, 0, 0, 1, 0, 1]), 2, rng())] == [
            [1, 2, 4],
            [0, 3, 5],
        ]

    def test_impossible(self):
        assert refusal(Half(), count=1) == "devices.count: 1 device cannot be halved: set it to 2 or more"
        text = "half needs a class for each half of the devices, but there is only one"
        assert refusal(Half(), np.zeros(9, int), 2) == f"data.partition: {text}"
        assert refusal(Half(), count=300) == "devices.count: 150 devices cannot share the 100 samples of a class"


class TestPartialOverlap:
    @pytest.mark.parametrize(
        ("classes", "first", "second"),
        [(10, (0, 5), (4, 9)), (100, (0, 59), (40, 99)), (200, (0, 119), (80, 199)), (5, (0, 2), (2, 4))],
    )
    def test_label_sets(self, classes, first, second):
        sets = partial_overlap.label_sets(classes, 0.6, 0.2)
        assert [(labels[0], labels[-1]) for labels in sets] == [first, second]

    def test_the_news_variant(self):
        """A quarter of four labels in both halves, a label of its own each, the last one unused."""
        assert partial_overlap.label_sets(4, 0.5, 0.25) == (range(2), range(1, 3))

    def test_an_overlap_of_no_label_is_refused(self):
        """0.2 of four labels is none: the halves would silently have nothing in common."""
        with pytest.raises(InputError, match=r"^data.partition.overlap: 0.2 of 4 classes is less than one: .* 0.25 or"):
            partial_overlap.label_sets(4, 0.6, 0.2)
        assert partial_overlap.label_sets(4, 0.6, 0.0) == (range(2), range(2, 4))

    @given(st.integers(5, 300))
    def test_the_paper_s_sets_always_exist(self, classes):
        first, second = partial_overlap.label_sets(classes, 0.6, 0.2)
        assert len(first) == len(second) == 6 * classes // 10
        assert len(set(first) & set(second)) == 2 * classes // 10
        assert second[-1] < classes

    def test_common_labels_are_halved(self):
        table = held(PartialOverlap())
        assert (table[:5, :4] == 20).all()
        assert (table[5:, 6:] == 20).all()
        assert (table[:, 4:6] == 10).all()
        assert not table[:5, 6:].any()
        assert not table[5:, :4].any()

    def test_impossible(self):
        assert refusal(PartialOverlap(), count=1) == "devices.count: 1 device cannot be halved: set it to 2 or more"
        text = "two sets of 9 of the 10 classes, 2 of them in both: there are no such sets"
        assert refusal(PartialOverlap(share=0.9)) == f"data.partition.share: {text}"
        assert "would get nothing" in refusal(PartialOverlap(), np.arange(10), 100)


class TestDistinct:
    @pytest.mark.parametrize(("labels", "count", "each"), [(LABELS, 10, 1), (HUNDRED, 10, 10), (LABELS, 5, 2)])
    def test_device_i_has_the_i_th_labels_whole(self, labels, count, each):
        classes = labels.max() + 1
        expected = np.zeros((count, classes), int)
        for device in range(count):
            expected[device, device * classes // count : (device + 1) * classes // count] = np.bincount(labels)[0]
        assert held(Distinct(), labels, count).tolist() == expected.tolist()
        assert ((expected > 0).sum(axis=1) == each).all()

    def test_labels_that_do_not_divide(self):
        assert (held(Distinct(), count=4) > 0).sum(axis=1).tolist() == [2, 3, 2, 3]

    def test_impossible(self):
        text = "11 devices cannot have different labels, as there are only 10 labels"
        assert refusal(Distinct(), count=11) == f"devices.count: {text}"


class TestLabelOverlap:
    @pytest.mark.parametrize(
        ("classes", "overlap", "first", "second"),
        [
            (10, 0.0, (0, 4), (5, 9)),
            (10, 0.2, (0, 4), (4, 8)),
            (100, 0.2, (0, 54), (44, 98)),
            (200, 0.2, (0, 110), (89, 199)),
            (4, 0.8, (0, 2), (1, 3)),
            (4, 0.2, (0, 1), (2, 3)),
        ],
    )
    def test_label_sets(self, classes, overlap, first, second):
        sets = label_overlap.label_sets(classes, overlap)
        assert [(labels[0], labels[-1]) for labels in sets] == [first, second]

    @given(st.integers(2, 300), st.floats(0, 1, exclude_max=True))
    def test_label_sets_fit(self, classes, overlap):
        first, second = label_overlap.label_sets(classes, overlap)
        assert second[-1] < classes
        common = len(set(first) & set(second))
        assert common <= overlap * len(first) + 1e-6
        assert not common or len(first) == len(second)

    def test_both_groups_have_a_common_label_in_full(self):
        parts = LabelOverlap().split(LABELS, 20, rng())
        table = counts(parts)
        assert table[:10].sum(axis=0).tolist() == [100] * 5 + [0] * 5
        assert table[10:].sum(axis=0).tolist() == [0] * 4 + [100] * 5 + [0]
        for group in (parts[:10], parts[10:]):
            assert len(set(np.concatenate(group).tolist())) == 500

    def test_quotas_are_equal_in_a_group(self):
        sizes = [len(part) for part in LabelOverlap().split(UNEVEN, 14, rng())]
        assert max(np.ptp(sizes[:7]), np.ptp(sizes[7:])) <= 1

    @pytest.mark.oracle
    @settings(max_examples=50)
    @given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 6), st.floats(1e-3, 100))
    def test_filling_uses_every_sample(self, sizes, count, alpha):
        if sum(sizes) < count:
            return
        table = fill(np.array(sizes), count, alpha, rng())
        assert table.sum(axis=1).tolist() == sizes
        assert np.ptp(table.sum(axis=0)) <= 1

    @pytest.mark.oracle
    def test_the_chance_of_a_class_is_that_of_drawing_it_in_so_many_tries(self):
        """Against the tries themselves: at most 3 * 3 + 5 draws from the mix, then one of the classes that are left."""
        mix = np.array([0.9, 0.07, 0.03])
        left = np.array([False, True, True])
        draws = np.random.default_rng(5)
        found = np.zeros(3)
        for _ in range(20_000):
            tries = draws.choice(3, 14, p=mix)
            hits = tries[left[tries]]
            found[hits[0] if hits.size else draws.choice([1, 2])] += 1
        chances = label_overlap._class_probabilities(mix, left)
        assert chances[0] == 0
        assert stats.chisquare(found[1:], 20_000 * chances[1:]).pvalue > 0.01
        assert found[1] / 20_000 < 0.66  # and not 0.7, as it would be with tries without end

    @pytest.mark.oracle
    def test_mixes_follow_the_dirichlet_law(self):
        """The first device, before anything has run out: E[p^2] = (alpha + 1) / (K (K alpha + 1)); 300 devices."""
        alpha = 0.5
        size = 200
        first = np.array([fill(np.full(5, 200), 5, alpha, rng(seed))[:, 0] for seed in range(300)])
        assert (first * (first - 1)).mean() / (size * (size - 1)) == pytest.approx(
            (alpha + 1) / (5 * (5 * alpha + 1)), rel=0.1
        )

    def test_impossible(self):
        assert (
            refusal(LabelOverlap(), count=9)
            == "devices.count: 9 devices make no two groups of equal size: set an even number"
        )
        text = "1 class cannot be divided between two groups"
        assert refusal(LabelOverlap(), np.zeros(9, int), 2) == f"data.partition: {text}"
        assert refusal(LabelOverlap(), np.arange(10), 12) == (
            "devices.count: 6 devices cannot share 5 training samples: one each at least"
        )


class TestNatural:
    OWNER = np.array([2, 0, 2, 5, 0, 2])

    def assign(self, count, owner=OWNER, seed=1):
        return [part.tolist() for part in Natural().assign(np.zeros(6, int), owner, count, rng(seed))]

    def test_a_device_an_owner(self):
        assert self.assign(3) == [[1, 4], [0, 2, 5], [3]]

    def test_fewer_devices_are_a_random_choice_of_owners(self):
        choices = [self.assign(2, seed=seed) for seed in range(60)]
        assert choices[0] == self.assign(2, seed=0)
        assert {str(choice) for choice in choices} == {
            str([a, b]) for a, b in (([1, 4], [0, 2, 5]), ([1, 4], [3]), ([0, 2, 5], [3]))
        }

    def test_impossible(self):
        with pytest.raises(InputError, match=r"^devices\.count: 4 devices, but the samples have 3 owners$"):
            self.assign(4)
        with pytest.raises(InputError, match=r"^data\.partition: natural needs a dataset whose samples have owners"):
            self.assign(3, None)

    def test_owners_do_not_matter_to_the_others(self):
        parts = [Shards().assign(LABELS, owner, 10, rng()) for owner in (None, np.arange(1000))]
        assert [part.tolist() for part in parts[0]] == [part.tolist() for part in parts[1]]


def test_listed_labels_are_shared_evenly_and_lists_are_taken_in_turn():
    found = held(ListedLabels(of=((0, 1), (1, 5), (7,))), UNEVEN, count=4)  # the fourth device has the first list
    total = counts([np.arange(len(UNEVEN))], UNEVEN)[0]
    assert found.sum(axis=0).tolist() == [total[label] if label in {0, 1, 5, 7} else 0 for label in range(10)]
    assert found[2].tolist() == [total[7] if label == 7 else 0 for label in range(10)]
    assert (found > 0).astype(int)[[0, 1, 3]].tolist() == [
        [1, 1, *[0] * 8],
        [0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
        [1, 1, *[0] * 8],
    ]
    assert np.ptp(found[[0, 1, 3], 1]) <= 1
    assert refusal(ListedLabels(of=((0, 12),))) == "data.partition.of: no sample has the label 12: leave it out"
