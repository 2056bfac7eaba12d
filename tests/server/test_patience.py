"""Early stopping: a run ends when a column of its rounds has not improved for some rounds."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from run_cases import content

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.record import Pace
from edgefl.records.ledger import Ledger
from edgefl.scenario import Patience
from edgefl.server.plateau import Plateau

SMALL = {
    "rounds": 40,
    "data": {"dataset": "digits", "partition": "iid", "validation_share": 0.2},
    "training": {"local_steps": 3, "batch_size": 16, "lr": 0.2},
    "devices": {"count": 6},
    "server": {"participants": 3},
}


def kept(losses, patience, min_delta):
    """The losses up to the end of a run, by the definition: an independent loop."""
    for end in range(1, len(losses) + 1):
        best = math.inf
        waited = 0
        for loss in losses[:end]:
            waited += 1
            if best - loss > min_delta:
                best = loss
                waited = 0
        if waited >= patience:
            return losses[:end]
    return losses


def watched(values, patience, column="test_loss"):
    """The values that a plateau sees until it is reached; it is asked twice after each, as it may be."""
    ledger = Ledger()
    plateau = Plateau(patience, column)
    for number, value in enumerate(values):
        ledger.close_round({"session": 1, "round": number + 1}, {})
        ledger.enter_evaluation(number, {column: value})
        assert plateau.reached(ledger) == plateau.reached(ledger)
        if plateau.reached(ledger):
            return values[: number + 1]
    return values


# Quarters, so that differences and sums are exact.
@pytest.mark.oracle
@given(
    st.lists(st.integers(0, 12).map(lambda quarters: quarters / 4), max_size=30),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.25, 1.0]),
)
@example([3.0, 2.0, 2.0, 2.0], 2, 0.0)
@example([1.0, 0.75, 0.5, 0.25], 2, 0.25)  # each step is as small as what does not count
def test_loss_ends_a_run_as_the_definition_says(losses, rounds, min_delta):
    assert watched(losses, Patience(rounds=rounds, min_delta=min_delta)) == kept(losses, rounds, min_delta)


@pytest.mark.oracle
@given(st.lists(st.integers(0, 12).map(lambda quarters: quarters / 4), max_size=30), st.integers(1, 6))
def test_accuracies_improve_upwards(values, rounds):
    seen = watched(values, Patience(rounds=rounds, min_delta=0.25), "test_accuracy")
    assert seen == [-loss for loss in kept([-value for value in values], rounds, 0.25)]


def test_rounds_that_are_not_evaluated_pass():
    values = [1.0, None, None, 1.0, None, 1.0]
    assert watched(values, Patience(rounds=3)) == values[:4]  # round 4 is judged, three rounds after the best
    assert watched(values, Patience(rounds=4)) == values


def ended(keys, column):
    """The losses, or negative accuracies, of a run's rounds."""
    values = edgefl.run(keys, device="cpu").rounds[column].dropna()
    return (values if column.endswith("loss") else -values).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize(
    "column", ["validation_accuracy", "validation_loss", "test_accuracy", "test_loss", "train_loss"]
)
def test_run_ends_where_the_longer_one_stops_improving(column):
    whole = ended(SMALL, column)
    patience = {"rounds": 3, "of": column, "min_delta": 0.001}
    found = ended({**SMALL, "stop": {"patience": patience}}, column)
    assert found == kept(whole, 3, 0.001)
    assert len(found) < len(whole)


@pytest.mark.oracle
def test_default_is_the_accuracy_on_the_validation_set_if_there_is_one():
    patience = {"stop": {"patience": {"rounds": 2}}}
    assert ended({**SMALL, **patience}, "validation_accuracy") == kept(ended(SMALL, "validation_accuracy"), 2, 0.0)
    tested = {**SMALL, "data": {"dataset": "digits", "partition": "iid"}}
    assert ended({**tested, **patience}, "test_accuracy") == kept(ended(tested, "test_accuracy"), 2, 0.0)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "policy", ["asynchronous", {"kind": "buffered", "buffer": 2}], ids=["asynchronous", "buffered"]
)
def test_aggregations_count_where_rounds_overlap(policy):
    keys = {**SMALL, "server": {"participants": 3, "policy": policy}}
    whole = ended(keys, "validation_loss")
    found = ended({**keys, "stop": {"patience": {"rounds": 2, "of": "validation_loss"}}}, "validation_loss")
    assert found == kept(whole, 2, 0.0)


def test_run_is_judged_at_its_evaluations():
    keys = {**SMALL, "report": {"eval_every": 4}, "stop": {"patience": {"rounds": 1, "min_delta": 1.0}}}
    rounds = edgefl.run(keys, device="cpu").rounds
    assert len(rounds) == 8  # the first value is that of round 4


@pytest.mark.oracle
def test_stopped_run_goes_on_with_more_patience(tmp_path):
    for rounds, resume in ((2, False), (4, True), (6, True)):
        keys = {**SMALL, "stop": {"patience": {"rounds": rounds, "min_delta": 1.0}}}
        result = edgefl.run(keys, device="cpu", out=tmp_path / "out", pace=Pace(rounds=99), resume=resume)
        assert len(result.rounds) == rounds + 1
    edgefl.run(keys, device="cpu", out=tmp_path / "whole")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.oracle
def test_priced_again_a_stopped_run_has_the_same_rounds(tmp_path):
    """With another band nothing else is learned: the same rounds end the run."""
    keys = {**SMALL, "stop": {"patience": {"rounds": 2, "of": "validation_loss"}}}
    result = edgefl.run(keys, device="cpu", out=tmp_path / "run")
    table = edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [1e6]})
    assert table["rounds"].tolist() == [len(result.rounds)] * 2
    assert len(result.rounds) < 40


def test_patience_without_learning_is_refused():
    with pytest.raises(InputError, match=r"stop\.patience: a run without learning does not improve: .*leave it out"):
        edgefl.run({**SMALL, "stop": {"patience": {"rounds": 3}}}, train=False)


def test_patience_with_an_accuracy_that_is_not_measured_is_refused():
    keys = {
        **SMALL,
        "data": {"dataset": "quadratic", "coefficients": [[1.0, 2.0, 3.0]] * 6, "partition": "one_each"},
        "model": "quadratic",
        "stop": {"patience": {"rounds": 3, "of": "test_accuracy"}},
    }
    with pytest.raises(InputError, match=r"stop\.patience\.of: needs samples with classes.*set it to test_loss"):
        edgefl.run(keys, device="cpu")
