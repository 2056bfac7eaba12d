"""Targets relative to what another run reached: resolved once, and then part of the scenario."""

import json

import pytest
from scenario_schema import validator

from edgefl.core.errors import InputError
from edgefl.records.ledger import Ledger
from edgefl.results.summary import summarize
from edgefl.scenario import dump, load
from edgefl.scenario.yaml_reader import parse


@pytest.fixture
def reference(tmp_path):
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"best_accuracy": 0.8}))
    return folder


@pytest.fixture
def scenario(tmp_path, reference):
    path = tmp_path / "s.yaml"
    path.write_text("rounds: 3\ntargets:\n- 0.5\n- {relative: 0.75, reference: reference}\n")
    return path


def test_the_reference_is_read_when_loaded(scenario, reference):
    absolute, relative = load(scenario).targets
    assert absolute == 0.5
    assert (relative.accuracy, relative.reference) == (pytest.approx(0.6), reference)


@pytest.mark.oracle
def test_loaded_target_does_not_need_its_reference(scenario, reference):
    loaded = load(scenario)
    (reference / "summary.json").unlink()
    text = parse(dump(loaded))[0]
    assert load(text) == loaded
    for raw in (text, parse(scenario.read_text())[0]):
        validator().validate(raw)


@pytest.mark.oracle
def test_a_reference_in_sessions_is_read_session_by_session(scenario, reference):
    sessions = [{"best_accuracy": best} for best in (0.4, None, 0.8)]
    (reference / "summary.json").write_text(json.dumps({"best_accuracy": 0.8, "sessions": sessions}))
    loaded = load(scenario)
    target = loaded.targets[1]
    assert [target.within(session) for session in (1, 2, 3, 4)] == [pytest.approx(0.3), None, pytest.approx(0.6), None]
    text = parse(dump(loaded))[0]
    assert load(text) == loaded
    validator().validate(text)


def test_a_reference_without_sessions_counts_in_all(scenario):
    target = load(scenario).targets[1]
    assert [target.within(session) for session in (1, 7)] == [target.accuracy] * 2


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        (None, "holds no finished run (summary.json cannot be read)"),
        ("[]", "its summary.json does not belong to a run"),
        ('{"best_accuracy": null}', "that run measured no accuracy"),
    ],
)
def test_a_bad_reference_is_one_line(scenario, reference, summary, said):
    path = reference / "summary.json"
    path.unlink()
    if summary is not None:
        path.write_text(summary)
    with pytest.raises(InputError) as caught:
        load(scenario)
    (fault,) = caught.value.faults
    assert fault.startswith(f"{scenario}:4: targets.1.reference: {reference}: {said}")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("{relative: 0.9}", "targets.0.reference: is required"),
        ("high", "targets.0: must be an accuracy or {relative: 0.97, reference: result folder}"),
    ],
)
def test_wrong_target_is_refused_at_its_key(scenario, target, said):
    scenario.write_text(f"targets: [{target}]\n")
    with pytest.raises(InputError) as caught:
        load(scenario)
    assert caught.value.faults[0].startswith(f"{scenario}:1: {said}")


def test_the_summary_says_what_a_relative_target_was(scenario, reference):
    ledger = Ledger()
    counts = dict.fromkeys(
        ("bytes_down", "bytes_up", "selected", "received", "late", "departed", "failed", "wasted_j"), 0
    )
    for number, accuracy in enumerate((0.4, None, 0.6, 0.7), 1):
        row = {"round": number, "time_s": 2.0 * number, "energy_j": 3.0 * number, "test_accuracy": accuracy}
        ledger.close_round(row | counts, {})
    summary = summarize(ledger, load(scenario).targets, 2, None)
    first = {"round": 3, "time_s": 6.0, "energy_j": 9.0}
    relative = {"accuracy": pytest.approx(0.6), **first, "relative": 0.75, "reference": str(reference)}
    assert summary["targets"] == [{"accuracy": 0.5, **first}, relative]
    assert summary["last"] == pytest.approx({"n": 2, "mean_accuracy": 0.65, "std_accuracy": 0.05})
    assert (summary["final_accuracy"], summary["best_accuracy"]) == (0.7, 0.7)
    assert summarize(Ledger(), [], 2, None)["last"] is None
