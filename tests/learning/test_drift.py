"""Concept drift: what changes, when and at which devices; what is tested, and a run of two phases by hand."""

import json

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.plugins import WrongReturn
from edgefl.core.streams import Streams
from edgefl.learning.concepts import Concepts
from edgefl.learning.datasets import Data
from edgefl.learning.drifts.labels import Labels
from edgefl.learning.drifts.permutation import Permutation
from edgefl.learning.drifts.rotation import Rotation
from edgefl.runs.data_division import divide
from edgefl.scenario import load
from edgefl.scenario.plausibility import implausible

SWAP = {"kind": "labels", "swap": [[0, 1], [2, 7]]}
BASE = {
    "seed": 5,
    "rounds": 6,
    "data": {"dataset": "digits", "partition": "iid"},
    "model": "logistic",
    "training": {"local_steps": 2, "batch_size": "full", "lr": 0.2, "engine": "serial"},
    "devices": {"count": 10},
    "server": {"participants": 10},
    "radio": {"transfer": "fast"},
}
POLICIES = {
    "sequential": {"server": {"participants": 1, "policy": "sequential"}},
    "split": {"server": {"participants": 1, "policy": {"kind": "split", "cut": 1}, "flops_per_s": 1e12}},
    "hierarchical": {
        "server": {"participants": 1, "policy": {"kind": "hierarchical", "cloud_every": 1}},
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100},
        "radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
    },
}
SESSIONS = {"rounds": None, "sessions": {"count": 3, "rounds": 2}}


def scenario(drift=None, **changes):
    data = {**BASE["data"], **changes.pop("data", {})}
    if drift is not None:
        data["drift"] = drift
    return {**BASE, **changes, "data": data}


def run(drift=None, **changes):
    result = edgefl.run(scenario(drift, **changes), device="cpu")
    assert result.error is None
    return result


def concepts(drift, devices=8, samples=40, tested=24, test_parts=None, seed=1):
    """The concepts of small images, whose first pixel is the number of the sample."""
    x = np.random.default_rng(0).normal(size=(samples + tested, 2, 2)).astype(np.float32)
    x[:, 0, 0] = np.arange(samples + tested)
    y = np.arange(samples + tested) % 4
    data = Data(x[:samples], y[:samples], x[samples:], y[samples:], classes=4)
    parts = np.array_split(np.arange(samples), devices)
    return Concepts(drift, data, parts, test_parts, Streams(seed)), data


class TestWhatChanges:
    def test_pairs_of_classes_trade_places(self):
        after = Labels(swap=[[0, 3]], at_round=[2]).labels(np.array([0, 1, 2, 3, 0]), 4, np.random.default_rng(0))
        assert after.tolist() == [3, 1, 2, 0, 3]

    def test_by_default_each_class_becomes_the_next_one(self):
        after = Labels(at_round=[2]).labels(np.array([0, 1, 2, 3]), 4, np.random.default_rng(0))
        assert after.tolist() == [1, 2, 3, 0]

    @pytest.mark.parametrize("leading", [(), (3,)])
    def test_a_quarter_turn_is_counter_clockwise(self, leading):
        image = np.broadcast_to(np.array([[1, 2], [3, 4]]), (5, *leading, 2, 2))
        turned = Rotation(at_round=[2]).inputs(image, np.random.default_rng(0))
        assert (turned == np.array([[2, 4], [1, 3]])).all()
        whole = Rotation(at_round=[2], quarter_turns=3).inputs(turned, np.random.default_rng(0))
        assert (whole == image).all()

    @pytest.mark.parametrize("shape", [(7,), (3, 4), (3, 2, 2)])
    def test_all_samples_get_the_same_new_order(self, shape):
        x = np.arange(5)[:, None] * 1000 + np.arange(np.prod(shape))
        moved = Permutation(at_round=[2]).inputs(x.reshape(5, *shape), np.random.default_rng(0)).reshape(5, -1)
        assert (moved - moved[0] == x - x[0]).all()
        assert np.sort(moved[0]).tolist() == x[0].tolist()
        assert moved[0].tolist() != x[0].tolist()
        if len(shape) == 3:  # pixels move, colours stay together
            assert (moved[0].reshape(3, 4) - moved[0].reshape(3, 4)[0] == np.array([[0], [4], [8]])).all()

    def test_changes_add_up(self):
        """Two quarter turns are a half turn, and training and test samples turn alike."""
        found, data = concepts(Rotation(at_round=[2, 3]))
        stored = found.stored
        assert len(stored.train_x) == 3 * 40
        assert (stored.train_x[80:] == np.rot90(data.train_x, 2, axes=(1, 2))).all()
        assert (stored.test_x[24:48] == np.rot90(data.test_x, 1, axes=(1, 2))).all()
        assert (stored.train_y == np.tile(data.train_y, 3)).all()
        permuted, _ = concepts(Permutation(at_round=[2]))
        order = [np.flatnonzero((permuted.stored.train_x[40] == value).ravel())[0] for value in data.train_x[0].flat]
        again = [np.flatnonzero((permuted.stored.test_x[24] == value).ravel())[0] for value in data.test_x[0].flat]
        assert order == again


class TestWhoChanges:
    def test_a_share_of_devices_changes_each_time_as_the_seed_draws(self):
        found, _ = concepts(Labels(at_round=[2, 3], share=0.25))
        held = np.array([[part[0] // 40 for part in found.parts(changes)] for changes in range(3)])
        assert held[0].tolist() == [0] * 8
        assert np.diff(held, axis=0).sum(axis=1).tolist() == [2, 2]
        assert set(np.diff(held, axis=0).ravel().tolist()) == {0, 1}
        other, _ = concepts(Labels(at_round=[2, 3], share=0.25), seed=2)
        assert [part[0] // 40 for part in other.parts(1)] != held[1].tolist()
        more, _ = concepts(Labels(at_round=[2, 3], share=0.5), seed=1)
        assert all(part[0] // 40 >= few for part, few in zip(more.parts(1), held[1], strict=True))

    def test_a_device_keeps_its_samples_and_sees_them_changed(self):
        found, data = concepts(Labels(at_round=[2]))
        for device, part in enumerate(found.parts(1)):
            assert (found.stored.train_x[part] == data.train_x[found.part(device, 0)]).all()
            assert (found.stored.train_y[part] == (data.train_y[found.part(device, 0)] + 1) % 4).all()

    def test_the_test_set_has_the_concepts_of_the_devices(self):
        """24 test samples for 8 devices: three of them change with each device."""
        found, _ = concepts(Labels(at_round=[2], share=0.25))
        assert found.tested(0).tolist() == list(range(24))
        rows = found.tested(1)
        assert (rows % 24).tolist() == list(range(24))
        assert (rows >= 24).sum() == 6
        held_out = found.held_out(np.arange(40), 1)
        assert (held_out % 40).tolist() == list(range(40))
        assert (held_out >= 40).sum() == 10

    def test_test_samples_of_a_device_change_with_it(self):
        own = np.array_split(np.random.default_rng(3).permutation(24), 8)
        found, _ = concepts(Labels(at_round=[2], share=0.5), test_parts=own)
        changed = [part[0] >= 40 for part in found.parts(1)]
        for part, moved, has_changed in zip(own, found.test_parts(1), changed, strict=True):
            assert (moved - part == 24 * has_changed).all()
            assert (found.tested(1)[part] == moved).all()


def softmax_regression(parts, x, y, test, drifted, rounds, change_before):
    """Two full-batch steps at each device a round, from 0, averaged by samples; the test losses, in double."""
    w = np.zeros((x.shape[1] + 1, 10))
    losses = []
    for number in range(1, rounds + 1):
        labels = drifted if number >= change_before else (y, test[1])
        total = 0
        for part in parts:
            local = w.copy()
            inputs = np.c_[x[part], np.ones(len(part))]
            for _ in range(2):
                p = np.exp(inputs @ local)
                p /= p.sum(axis=1, keepdims=True)
                p[np.arange(len(part)), labels[0][part]] -= 1
                local -= 0.2 * inputs.T @ p / len(part)
            total = total + len(part) * (local - w)
        w = w + total / len(x)
        logits = np.c_[test[0], np.ones(len(test[0]))] @ w
        losses.append((np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(logits)), labels[1]]).mean())
    return losses


def check_phases(drift, folder, *, model=None, **keys):
    """Three rounds and then three on changed data are, to rounding, one run of six whose data change before round 4."""
    model = model or {"kind": "logistic"}
    whole = run(drift, model=model, **keys)
    first = run(rounds=3, model=model, **keys)
    divided = divide(load(scenario(drift, model=model, **keys)))
    stored = divided.concepts.stored
    rows = np.concatenate(divided.concepts.parts(1))
    tested = divided.concepts.tested(1)
    train_x = divided.data.normalised(stored.train_x[rows])
    test_x = divided.data.normalised(stored.test_x[tested])
    arrays = edgefl.arrays(train_x, stored.train_y[rows], test_x, stored.test_y[tested])
    edges = np.cumsum([0, *map(len, divided.parts)]).tolist()
    shares = {device: list(range(*edges[device : device + 2])) for device in range(len(divided.parts))}
    (folder / "shares.json").write_text(json.dumps(shares))
    np.save(folder / "first.npy", first.parameters)
    second = run(
        rounds=3,
        data={"dataset": arrays, "partition": {"kind": "file", "path": str(folder / "shares.json")}},
        model={**model, "init": {"kind": "file", "path": str(folder / "first.npy")}},
        **keys,
    )
    for name in ("test_loss", "train_loss"):
        phases = [*first.rounds[name].tolist(), *second.rounds[name].tolist()]
        assert whole.rounds[name].tolist() == pytest.approx(phases, rel=1e-5)
    assert np.abs(second.parameters - whole.parameters).max() < 1e-6
    assert np.abs(run(model=model, **keys).parameters - whole.parameters).max() > 1e-2


class TestTwoPhases:
    @pytest.mark.oracle
    def test_a_run_is_that_of_a_program_that_changes_labels_itself(self):
        drift = {**SWAP, "at_round": [4]}
        divided = divide(load(scenario(drift)))
        data = divided.data
        after = np.array([1, 0, 7, 3, 4, 5, 6, 2, 8, 9])
        x = data.normalised(data.train_x).reshape(len(data.train_x), -1).astype(float)
        test = (data.normalised(data.test_x).reshape(len(data.test_x), -1).astype(float), data.test_y)
        drifted = (after[data.train_y], after[data.test_y])
        losses = softmax_regression(divided.parts, x, data.train_y, test, drifted, 6, 4)
        start = {"kind": "logistic", "init": {"kind": "value", "value": 0.0}}
        found = run(drift, model=start)
        assert found.rounds["test_loss"].tolist() == pytest.approx(losses, rel=1e-5)
        assert losses[3] > losses[2] + 0.1

    @pytest.mark.oracle
    @pytest.mark.parametrize(("kind", "share"), [(SWAP, 1.0), ({"kind": "rotation"}, 0.4)])
    def test_a_run_goes_on_as_one_that_begins_with_the_changed_data(self, kind, share, tmp_path):
        """Three rounds, then three from their model, on data in which the shares of four devices have changed."""
        drift = {**kind, "at_round": [4], "share": share}
        check_phases(drift, tmp_path)
        divided = divide(load(scenario(drift)))
        changed = np.concatenate(divided.concepts.parts(1)) >= len(divided.data.train_y)
        assert changed.mean() == pytest.approx(share, abs=0.01)

    @pytest.mark.parametrize("policy", list(POLICIES))
    @pytest.mark.oracle
    def test_models_that_are_not_averaged_go_on_too(self, policy, tmp_path):
        """With one device, as the order of several depends on the round."""
        model = {"kind": "mlp", "hidden": [8]}
        check_phases({**SWAP, "at_round": [4]}, tmp_path, model=model, devices={"count": 1}, **POLICIES[policy])


class TestWhenDataChange:
    @pytest.mark.oracle
    def test_a_time_between_two_rounds_is_the_round_after_it(self):
        by_round = run({**SWAP, "at_round": [4]})
        ends_s = by_round.rounds["time_s"].tolist()
        by_time = run({**SWAP, "at_s": [ends_s[2]]})  # round 4 begins when round 3 ends
        assert by_time.rounds["test_loss"].tolist()[3:] == by_round.rounds["test_loss"].tolist()[3:]
        assert by_time.parameters.tobytes() == by_round.parameters.tobytes()

    @pytest.mark.oracle
    def test_a_round_under_way_trains_on_what_devices_had_and_is_tested_on_what_they_have(self):
        before = run(rounds=3)
        middle_s = before.rounds["time_s"].tolist()[1] + 1e-9  # round 3 has begun
        found = run({**SWAP, "at_s": [middle_s]}, rounds=3)
        later = run({**SWAP, "at_round": [4]}, rounds=4)
        assert found.rounds["train_loss"].equals(before.rounds["train_loss"])
        assert found.rounds["test_loss"].tolist()[2] > before.rounds["test_loss"].tolist()[2]
        assert found.rounds["test_loss"].tolist()[:2] == later.rounds["test_loss"].tolist()[:2]
        assert found.events["time_s"][found.events["kind"] == "data_change"].tolist() == [middle_s]

    @pytest.mark.oracle
    def test_updates_under_way_are_of_the_samples_that_devices_had(self):
        """One device, whose second update is under way when labels change, and its third begins after the change."""
        alone = {"devices": {"count": 1}, "server": {"participants": 1, "policy": "asynchronous"}}
        before = run(**alone)
        begins_s = before.rounds["time_s"].tolist()
        found = run({**SWAP, "at_s": [(begins_s[0] + begins_s[1]) / 2]}, **alone)
        assert found.rounds["train_loss"].tolist()[:2] == before.rounds["train_loss"].tolist()[:2]
        assert found.rounds["train_loss"].tolist()[2] > before.rounds["train_loss"].tolist()[2]

    @pytest.mark.oracle
    def test_rounds_count_over_all_sessions_and_extra_rounds_see_the_coming_data(self):
        proposed = {**SESSIONS["sessions"], "initialisation": "proposed"}
        found = run({**SWAP, "at_round": [3, 5]}, rounds=None, sessions=proposed)
        changes_s = found.events["time_s"][found.events["kind"] == "data_change"].tolist()
        ends_s = found.rounds["time_s"].tolist()
        keys = found.rounds[["session", "round"]].to_numpy().tolist()
        assert keys[:4] == [[1, 1], [1, 2], [2, 0], [2, 1]]
        assert keys[5:7] == [[3, 0], [3, 1]]
        assert changes_s == [ends_s[1], ends_s[4]]

    def test_a_price_without_training_does_not_change(self):
        plain = edgefl.run(scenario(), train=False)
        drifting = edgefl.run(scenario({**SWAP, "at_round": [3]}), train=False)
        assert drifting.rounds.equals(plain.rounds)
        assert drifting.devices.equals(plain.devices)


class TestEvaluation:
    @pytest.mark.oracle
    def test_measures_and_accuracies_of_devices_go_by_the_present_concept(self):
        """One class becomes another for all: accuracies by hand from the final model's predictions."""
        drift = {**SWAP, "at_round": [6], "share": 0.4}
        report = {"measures": ["predictions"], "train_accuracy": "all"}
        found = run(drift, report=report, data={"validation_share": 0.2})
        divided = divide(load(scenario(drift, data={"validation_share": 0.2})))
        stored = divided.concepts.stored
        w = found.parameters
        x = divided.data.normalised(stored.train_x).reshape(len(stored.train_x), -1)
        predicted = (x @ w[: x.shape[1] * 10].reshape(10, -1).T + w[x.shape[1] * 10 :]).argmax(axis=1)
        right = predicted == stored.train_y
        parts = divided.concepts.parts(1)
        assert found.device_accuracy["accuracy"].tolist() == pytest.approx([right[part].mean() for part in parts])
        last = found.rounds.iloc[-1]
        assert last["train_accuracy"] == pytest.approx(right[np.concatenate(parts)].mean())
        held_out = divided.concepts.held_out(divided.validation, 1)
        assert last["validation_accuracy"] == pytest.approx(right[held_out].mean())
        final = found.predictions[found.predictions["round"] == 6]
        pairs = final.groupby("label")["samples"].sum()
        counts = np.bincount(stored.test_y[divided.concepts.tested(1)])
        assert pairs.to_dict() == {label: count for label, count in enumerate(counts.tolist()) if count}
        hits = final.loc[final["label"] == final["predicted"], "samples"].sum()
        assert last["test_accuracy"] == pytest.approx(hits / counts.sum())

    @pytest.mark.process
    def test_results_do_not_depend_on_the_number_of_workers(self, monkeypatch, tmp_path):
        monkeypatch.setattr("edgefl.learning.learner.workers.rule.pays_for_processes", lambda *_: True)
        batched = {"training": {**BASE["training"], "engine": "batched", "width": 2}}
        keys = scenario({"kind": "rotation", "at_round": [2, 4], "share": 0.5}, **batched)
        results = []
        for count in (1, 3):
            monkeypatch.setattr("edgefl.learning.learner.learner.cores", lambda count=count: count)
            results.append(edgefl.run(keys, out=tmp_path / str(count), device="cpu"))
            manifest = json.loads((tmp_path / str(count) / "manifest.json").read_text())
            assert manifest["learner"]["workers"] == count
        assert results[0].parameters.tobytes() == results[1].parameters.tobytes()
        assert results[0].rounds.equals(results[1].rounds)


class Shorter(Permutation):
    """Loses a sample."""

    def inputs(self, x, rng):
        return x[1:]


class Coarser(Permutation):
    """Has samples of another type."""

    def inputs(self, x, rng):
        return x.astype(np.float16)


class Further(Labels):
    """Names classes that do not exist."""

    def labels(self, y, classes, rng):
        return y + classes


class TestDriftsFromOutside:
    def test_a_class_of_ones_own_says_what_changes(self):
        class Negative(Permutation):
            """Turns each number into its opposite."""

            def inputs(self, x, rng):
                return -x

        found, data = concepts(Negative(at_round=[2]))
        assert (found.stored.test_x[24:] == -data.test_x).all()

    @pytest.mark.parametrize(
        ("drift", "complaint"),
        [
            (Shorter, "returned an array of shape [39, 2, 2], must return the samples of the next concept"),
            (Coarser, "returned an array of float16, must return samples of the same type, float32"),
            (Further, "must return classes from 0 to 3"),
        ],
    )
    def test_wrong_returns_are_named(self, drift, complaint):
        with pytest.raises(WrongReturn) as error:
            concepts(drift(at_round=[2]))
        assert complaint in str(error.value)


class TestBadInput:
    @pytest.mark.parametrize(
        ("drift", "complaint"),
        [
            ("labels", "data.drift: needs either at_s: [3600] or at_round: [50]: give exactly one of them"),
            ({"kind": "labels", "at_s": [1.0], "at_round": [2]}, "give exactly one of them"),
            ({"kind": "labels", "at_s": [5.0, 5.0]}, "data.drift.at_s: must ascend, got 5.0 after 5.0"),
            ({"kind": "labels", "at_round": [1]}, "data.drift.at_round"),
            ({"kind": "labels", "at_round": [2], "share": 0}, "data.drift.share: must be > 0, got 0"),
            ({"kind": "labels", "at_round": [2], "swap": [[0, 1], [1, 2]]}, "data.drift.swap: names class 1 twice"),
            ({"kind": "colours", "at_round": [2]}, 'data.drift: unknown drift "colours"'),
        ],
    )
    def test_wrong_keys_are_refused(self, drift, complaint):
        with pytest.raises(InputError) as error:
            load(scenario(drift))
        assert complaint in str(error.value)

    @pytest.mark.parametrize(
        ("drift", "data", "complaint"),
        [
            ({"kind": "labels", "swap": [[0, 12]]}, {}, "labels swaps class 12, but classes are 0 to 9"),
            ({"kind": "labels"}, {"dataset": "quadratic", "coefficients": [[1, 0, 0]] * 10}, "one class each"),
            ({"kind": "rotation"}, {"dataset": "synthetic"}, "rotation needs images, got samples of shape"),
            ({"kind": "permutation"}, {"dataset": "tokens"}, "permutation needs samples of numbers"),
        ],
    )
    def test_data_that_cannot_change_so_are_refused(self, drift, data, complaint):
        keys = scenario({**drift, "at_round": [2]}, data=data)
        with pytest.raises(InputError, match=rf"data\.drift: .*{complaint}"):
            edgefl.run({**keys, "model": {}} if data.get("dataset") == "quadratic" else keys, train=False)

    def test_images_of_unequal_sides_turn_by_halves(self):
        x = np.zeros((20, 4, 6), dtype=np.float32)
        arrays = edgefl.arrays(x, np.arange(20) % 2, x, np.arange(20) % 2)
        with pytest.raises(InputError, match=r"data\.drift: rotation would change the shape of samples, \[4, 6\]"):
            edgefl.run(scenario({"kind": "rotation", "at_round": [2]}, data={"dataset": arrays}), train=False)
        half = {"kind": "rotation", "quarter_turns": 2, "at_round": [2]}
        assert edgefl.run(scenario(half, data={"dataset": arrays}), train=False).status == "finished"

    def test_a_change_after_the_last_round_is_reported(self):
        (line,) = implausible(load(scenario({**SWAP, "at_round": [2, 9]})))
        assert line == "data.drift.at_round: data do not change before round 9, as the last round is 6"
        assert implausible(load(scenario({**SWAP, "at_round": [6]}, **SESSIONS))) == []
