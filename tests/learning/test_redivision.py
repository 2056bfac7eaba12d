"""The samples of a round's participants, divided among them again: shares, learning and costs."""

import json

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.partitions.dirichlet_by_class import DirichletByClass
from edgefl.learning.partitions.iid import Iid
from edgefl.learning.redivision import Redivision
from edgefl.runs.data_division import divide
from edgefl.scenario import load

SKEWED = {"kind": "dirichlet_by_class", "alpha": 0.05}
BASE = {
    "seed": 5,
    "rounds": 3,
    "data": {"dataset": "digits", "partition": SKEWED},
    "model": "logistic",
    "training": {"local_epochs": 2, "batch_size": 20, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 20},
    "server": {"participants": 6},
    "radio": {"transfer": "fast"},
}


def scenario(redivide=None, **changes):
    data = {**BASE["data"], **changes.pop("data", {}), "redivide": redivide}
    return {**BASE, **changes, "data": data}


def run(redivide=None, *, train=True, **changes):
    return edgefl.run(scenario(redivide, **changes), device="cpu", train=train)


def redivision(partition, seed=1):
    labels = np.random.default_rng(0).integers(0, 10, 400)
    parts = np.split(np.random.default_rng(1).permutation(400), [5, 80, 200, 210])
    return Redivision(partition, labels, parts, Streams(seed)), parts


class TestPool:
    @pytest.mark.parametrize("partition", [Iid(), DirichletByClass(alpha=0.1)])
    def test_participants_share_what_they_hold(self, partition):
        divided, parts = redivision(partition)
        ids = np.array([0, 2, 4])
        shares = divided.parts(ids, 3)
        assert np.sort(np.concatenate(shares)).tolist() == sorted(np.concatenate([parts[one] for one in ids]).tolist())
        assert divided.sizes(ids, 3).tolist() == [len(share) for share in shares]

    def test_even_shares_are_equal_with_similar_labels(self):
        """315 samples for three devices; in each share a class is a hypergeometric draw: four standard deviations."""
        divided, parts = redivision(Iid())
        shares = divided.parts(np.array([0, 2, 4]), 0)
        assert [len(share) for share in shares] == [105] * 3
        pool = np.concatenate([parts[one] for one in (0, 2, 4)])
        for share in shares:
            for label in range(10):
                p = float((divided._labels[pool] == label).mean())
                spread = np.sqrt(105 * p * (1 - p) * (315 - 105) / (315 - 1))
                assert abs((divided._labels[share] == label).sum() - 105 * p) < 4 * spread

    def test_a_division_is_the_seeds_and_the_rounds(self):
        ids = np.arange(5)
        first, _ = redivision(Iid())
        again, _ = redivision(Iid())
        other, _ = redivision(Iid(), seed=2)
        assert [part.tolist() for part in first.parts(ids, 7)] == [part.tolist() for part in again.parts(ids, 7)]
        assert [part.tolist() for part in first.parts(ids, 7)] != [part.tolist() for part in first.parts(ids, 8)]
        assert [part.tolist() for part in first.parts(ids, 7)] != [part.tolist() for part in other.parts(ids, 7)]

    def test_a_sample_that_a_device_holds_twice_counts_twice(self):
        twice = Redivision(Iid(), np.zeros(3, dtype=int), [np.array([0, 0]), np.array([1, 2])], Streams(1))
        assert np.sort(np.concatenate(twice.parts(np.arange(2), 0))).tolist() == [0, 0, 1, 2]


class TestLearning:
    @pytest.mark.oracle
    @pytest.mark.parametrize("redivide", ["iid", {"kind": "dirichlet_by_class", "alpha": 0.1}])
    def test_one_full_step_of_all_is_gradient_descent_on_the_pool(self, redivide):
        """Weighted by samples, moves add up to the gradient over the pool, however that is divided."""
        full = {"training": {"local_steps": 1, "batch_size": "full", "lr": 0.1, "engine": "serial"}}
        anew = run(redivide, **full)
        assert np.abs(anew.parameters - run(**full).parameters).max() < 1e-6
        uniform = run(redivide, **full, algorithm={"kind": "fedavg", "weighting": "uniform"})
        own = run(**full, algorithm={"kind": "fedavg", "weighting": "uniform"})
        assert np.abs(uniform.parameters - own.parameters).max() > 1e-3

    @pytest.mark.oracle
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"training": {**BASE["training"], "stragglers": {"share": 0.5}}},
            {"algorithm": {"kind": "feddisco", "base": "fedavg"}},
            {"algorithm": "fednova", "training": {**BASE["training"], "engine": "batched"}},
        ],
        ids=["FedAvg", "stragglers", "FedDisco", "FedNova"],
    )
    def test_the_first_round_is_that_of_devices_that_hold_these_samples(self, changes, tmp_path):
        """With all devices: the same bytes, times and energies as with a file of these shares."""
        everybody = {"rounds": 1, "server": {"participants": 20}, **changes}
        divided = divide(load(scenario("iid", **everybody)))
        shares = divided.redivision.parts(np.arange(20), 0)
        path = tmp_path / "shares.json"
        path.write_text(json.dumps({device: share.tolist() for device, share in enumerate(shares)}))
        anew = run("iid", **everybody)
        held = run(**everybody, data={"partition": {"kind": "file", "path": str(path)}})
        assert anew.parameters.tobytes() == held.parameters.tobytes()
        assert anew.devices.equals(held.devices)
        assert anew.rounds["train_loss"].equals(held.rounds["train_loss"])
        assert not anew.devices["compute_s"].equals(run(**everybody).devices["compute_s"])

    @pytest.mark.oracle
    def test_serial_and_batched_learn_the_same(self):
        batched = {**BASE["training"], "engine": "batched", "width": 4}
        apart = run("iid").parameters - run("iid", training=batched).parameters
        assert np.abs(apart).max() < 1e-5

    def test_devices_that_leave_take_their_shares_with_them(self):
        """The rounds of those who stay do not depend on when the others leave, as shares are dealt out before."""
        leaving = {
            "churn": {"kind": "poisson", "arrivals_per_s": 10, "stay_s": {"exponential": 1.0}},
            "report": {"labels_by_round": True},
            "radio": {"bandwidth_hz": 2e4},
        }
        result = run(SKEWED, **leaving)
        assert result.status == "finished"
        assert result.rounds["departed"].sum() > 0
        taken = result.labels_by_round.groupby("round")["device"].nunique()
        assert taken.tolist() == result.rounds["selected"].tolist()

    @pytest.mark.oracle
    def test_late_devices_keep_their_shares_from_the_others(self):
        """With a deadline, and with more devices than asked for: the pool is of all that begin, late ones too."""
        late = {"server": {"participants": 6, "policy": "deadline", "deadline_s": 0.2}, "radio": {"bandwidth_hz": 5e4}}
        for server in (late, {"server": {"participants": 4, "policy": "over_selection"}}):
            result = run(SKEWED, **server, report={"labels_by_round": True})
            assert result.status == "finished", result.error
            rounds = result.rounds
            assert (rounds["received"] < rounds["selected"]).any()
            assert result.labels_by_round.groupby("round")["device"].nunique().tolist() == rounds["selected"].tolist()

    @pytest.mark.process
    @pytest.mark.usefixtures("forked_sweeps")
    def test_runs_of_a_sweep_that_share_learning_end_as_alone(self, tmp_path):
        """The pool is a part of what learning depends on: two bandwidths learn alike, and a third loses updates."""
        content = scenario("iid", server={"participants": 6, "policy": "deadline", "deadline_s": 0.2})
        (tmp_path / "base.yaml").write_text(json.dumps(content))
        bandwidths = [5e4, 1e6, 1.1e6]
        (tmp_path / "sweep.yaml").write_text(
            json.dumps({"base": "base.yaml", "grid": {"radio.bandwidth_hz": bandwidths}})
        )
        edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "out", workers=1, device="cpu")
        for number, bandwidth in enumerate(bandwidths):
            (folder,) = {path.parent for path in (tmp_path / "out").rglob("rounds.csv")} & folders_of(
                tmp_path, bandwidth
            )
            alone = edgefl.run(tmp_path / "base.yaml", overrides=[f"radio.bandwidth_hz={bandwidth}"], device="cpu")
            together = edgefl.read(folder)
            assert np.array_equal(edgefl.read(folder).parameters, alone.parameters), number
            assert together.rounds["received"].tolist() == alone.rounds["received"].tolist()
            assert (alone.rounds["received"].sum() < 18) == (bandwidth == bandwidths[0])


def folders_of(folder, bandwidth):
    """The result folders of a sweep's runs with a bandwidth."""
    found = (folder / "out").rglob("scenario.yaml")
    return {path.parent for path in found if load(path).radio.bandwidth_hz == bandwidth}


class TestPrice:
    def test_even_shares_take_as_long_on_equal_devices(self):
        alike = {"devices": {"count": 20, "cpu_hz": 1e9}, "rounds": 4}
        steps = {"training": {**BASE["training"], "batch_size": 1}}
        own = run(train=False, **alike, **steps).devices
        even = run("iid", train=False, **alike, **steps).devices
        assert own.groupby("round")["compute_s"].std().min() > 0
        sizes = np.array([len(part) for part in divide(load(scenario())).parts])
        for _, rows in even.groupby("round"):
            least = sizes[rows["device"]].sum() // len(rows)  # the shares of a round differ by one sample at most
            assert rows["compute_s"].max() / rows["compute_s"].min() <= (least + 1) / least * (1 + 1e-9)
        # all of them together take as long as before
        assert even.groupby("round")["compute_s"].sum().to_list() == pytest.approx(
            own.groupby("round")["compute_s"].sum().to_list(), rel=1e-9
        )


class TestLabelsByRound:
    REPORT = {"report": {"labels_by_round": True}}  # noqa: RUF012

    def test_without_redivision_labels_are_those_of_the_device(self, tmp_path):
        result = edgefl.run(scenario(**self.REPORT), out=tmp_path / "run", device="cpu", train=False)
        labels = result.labels_by_round
        devices = result.devices
        pairs = {tuple(row) for row in labels[["round", "device"]].to_numpy()}
        assert pairs == {tuple(row) for row in devices[["round", "device"]].to_numpy()}
        divided = divide(load(scenario()))
        for (_, device), rows in labels.groupby(["round", "device"]):
            counts = np.bincount(divided.data.train_y[divided.parts[device]])
            assert dict(zip(rows["label"], rows["samples"], strict=True)) == {
                label: count for label, count in enumerate(counts.tolist()) if count
            }
        assert edgefl.read(tmp_path / "run").labels_by_round.equals(labels)
        assert "labels_by_round.csv" in json.loads((tmp_path / "run" / "manifest.json").read_text())["digests"]

    @pytest.mark.oracle
    def test_even_shares_differ_between_rounds_only(self):
        """Period drift without client drift: the classes of a round's devices are alike, those of rounds are not."""
        within, between = spreads(run("iid", train=False, **self.REPORT, rounds=12).labels_by_round)
        own_within, own_between = spreads(run(train=False, **self.REPORT, rounds=12).labels_by_round)
        assert within < 0.25 * own_within
        assert between == pytest.approx(own_between, rel=1e-9)  # a round's pool is the same

    @pytest.mark.oracle
    def test_uneven_shares_of_even_data_differ_within_rounds_only(self):
        """Client drift without period drift."""
        even = {"data": {"partition": {"kind": "iid", "stratified": True}}}
        within, between = spreads(run(SKEWED, train=False, **self.REPORT, **even, rounds=12).labels_by_round)
        own_within, own_between = spreads(run(train=False, **self.REPORT, rounds=12).labels_by_round)
        assert within > 0.7 * own_within
        assert between < 0.1 * own_between

    def test_without_the_key_no_file_is_written(self, tmp_path):
        edgefl.run(scenario(), out=tmp_path / "run", device="cpu", train=False)
        assert not (tmp_path / "run" / "labels_by_round.csv").exists()


def spreads(labels):
    """The distance of classes' shares of devices from those of their round, and of rounds from those of all rounds."""
    table = labels.pivot_table(index=["round", "device"], columns="label", values="samples", fill_value=0)
    pools = table.groupby("round").sum()
    shares = table.div(table.sum(axis=1), axis=0)
    of_pools = pools.div(pools.sum(axis=1), axis=0)
    rounds = table.index.get_level_values("round")
    within = np.abs(shares.to_numpy() - of_pools.loc[rounds].to_numpy()).sum(axis=1).mean()
    between = np.abs(of_pools.to_numpy() - of_pools.to_numpy().mean(axis=0)).sum(axis=1).mean()
    return within, between


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "redivide", "complaint"),
        [
            ({}, "natural", "data.redivide: natural divides the whole training set: set it to iid"),
            ({}, "even", 'data.redivide: unknown partition "even"'),
            (
                {"data": {"redivid": "iid"}},
                None,
                "known: dataset, path, partition, validation_share, redivide, test_partition",
            ),
        ],
    )
    def test_incompatible_keys_are_refused(self, changes, redivide, complaint):
        with pytest.raises(InputError) as error:
            load(scenario(redivide, **changes))
        assert complaint in str(error.value)

    def test_a_pool_that_cannot_be_divided_ends_the_run_with_its_round(self, tmp_path):
        result = edgefl.run(scenario({"kind": "exdir", "classes": 11}), out=tmp_path / "run", device="cpu")
        assert result.status == "failed"
        assert result.error.startswith("round 1: data.redivide: ")
        assert "participants cannot be divided: " in result.error
        assert "\n" not in result.error

    def test_regression_has_no_classes(self):
        train_y = np.arange(12.0)
        arrays = edgefl.arrays(np.ones((12, 2)), train_y, np.ones((4, 2)), np.arange(4.0))
        keys = {"data": {"dataset": arrays, "redivide": SKEWED}, "training": {"loss": "mse"}, "model": "logistic"}
        with pytest.raises(InputError, match=r"data\.redivide: dirichlet_by_class divides by classes"):
            edgefl.run({**keys, "rounds": 1, "devices": {"count": 3}}, train=False)
        even = {**keys, "data": {"dataset": arrays, "redivide": "iid"}, "report": {"labels_by_round": True}}
        with pytest.raises(InputError, match=r"report\.labels_by_round: needs samples with one class each"):
            edgefl.run({**even, "rounds": 1, "devices": {"count": 3}}, train=False)
