"""Targets and ends asked of finished runs, against runs that had them from the beginning, and against plain loops."""

import csv
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.results.metrics import accuracy_curve
from edgefl.results.targets import end_of, instead_of_missed, missed_sentence, target_of

BASE = {
    "name": "asked",
    "rounds": 8,
    "targets": [0.98, 0.99],
    "data": {"dataset": "digits", "partition": "iid"},
    "model": {"kind": "mlp", "hidden": [16]},
    "training": {"lr": 0.1},
    "devices": {"count": 6, "preset": "phone"},
    "server": {"participants": 3},
    "radio": {"preset": "nr"},
}
SWEEP = {"name": "asked", "base": BASE, "grid": {"radio.bandwidth_hz": [5e6, 20e6]}, "seeds": [1, 2, 3]}
MEASURES = ["time", "energy", "rounds"]


def index(folder):
    with (folder / "index.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A sweep whose runs reach none of their targets."""
    folder = tmp_path_factory.mktemp("asked") / "study"
    edgefl.sweep(SWEEP, out=folder, workers=1)
    return folder


def rows_of(tmp_path, *, rounds=8, targets=(0.98, 0.99)):
    base = BASE | {"rounds": rounds, "targets": list(targets)}
    edgefl.sweep(SWEEP | {"base": base}, out=tmp_path / "other", workers=1)
    return tmp_path / "other"


@pytest.mark.process
def test_a_target_that_is_asked_later_costs_what_a_sweep_with_it_says(study, tmp_path, capsys):
    other = rows_of(tmp_path, targets=[0.6])
    asked = edgefl.compare(study, targets=[0.6], measures=MEASURES)
    assert asked.equals(edgefl.compare(other, targets=[0.6], measures=MEASURES))
    assert asked["known"].min() > 0
    # A sweep goes on with other targets: nothing is run again, and the index has both.
    resumed = tmp_path / "resumed"
    shutil.copytree(study, resumed)
    (run, *_) = resumed.glob("*/seed-1")
    before = (run / "rounds.csv").stat().st_mtime_ns
    edgefl.sweep(SWEEP | {"base": BASE | {"targets": [0.6]}}, out=resumed, resume=True, workers=1)
    assert (run / "rounds.csv").stat().st_mtime_ns == before
    for row, wanted in zip(index(resumed), index(other), strict=True):
        assert {name: row[name] for name in wanted} == wanted
    # So does a single run, whose folder stays as it was.
    summary = (run / "summary.json").read_bytes()
    edgefl.load(run / "scenario.yaml")
    assert main(["run", str(run / "scenario.yaml"), "-o", str(run), "--resume", "--set", "targets=[0.6]"]) == 0
    assert "to 0.6  " in capsys.readouterr().out
    assert (run / "summary.json").read_bytes() == summary


@pytest.mark.process
def test_until_an_end_a_run_counts_as_a_shorter_one_does(study, tmp_path):
    other = rows_of(tmp_path, rounds=5)
    whole = [*MEASURES, "accuracy", "received", "wasted", "bytes_up"]
    cut = edgefl.compare(study, at="5rounds", measures=whole)
    assert cut.equals(edgefl.compare(other, measures=whole))
    runs = [sorted(folder.glob("*/seed-1")) for folder in (study, other)]
    compared, short = (edgefl.compare(folders, at="5rounds", targets=["train_loss<1"]) for folders in runs)
    same = [name for name in short if name not in {"run", "jain_index", "mean_age_rounds"}]
    assert compared[same].equals(short[same])
    # An end in seconds or joules is the last round that ended by then.
    rounds = edgefl.read(runs[0][0]).rounds
    for column, unit in (("time_s", "s"), ("energy_j", "J")):
        end = f"{rounds[column][4]}{unit}"
        assert edgefl.compare(runs[0], at=end)["rounds"][0] == 5


@pytest.mark.process
def test_where_every_target_is_missed_another_one_is_proposed_and_said(study, tmp_path, capsys):
    best = sorted(float(row["best_accuracy"]) for row in index(study))
    highest = int(100 * best[len(best) // 2 - 1])
    said = f"No run reached 98 % or 99 %: {highest} % is the highest accuracy that most runs reached"
    assert main(["compare", str(study)]) == 0
    text = capsys.readouterr().out
    assert said in text.replace("\n", " ")
    assert f"Time to {highest} %" in text
    page = edgefl.report(study, tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert said in page
    assert f"to {highest} %" in page
    folders = sorted(study.glob("*/seed-1"))
    assert main(["compare", *map(str, folders)]) == 0
    assert "No run reached 98 % or 99 %" in capsys.readouterr().out
    page = edgefl.report(study, tmp_path / "page.html", target="test_loss<1.5", at="6rounds").read_text()
    assert "to test_loss &lt; 1.5" in page
    assert "the first 6 rounds" in page
    assert main(["export", str(study), "--table", "targets", "--target", "test_loss<1.5", "--format", "markdown"]) == 0
    assert "test\\_loss &lt; 1.5: time" in capsys.readouterr().out


@pytest.mark.oracle
@given(st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=9), st.sampled_from(["<", "<=", ">", ">="]))
def test_the_first_round_that_meets_a_limit_counts(values, sign):
    limit = values[len(values) // 2]
    number = np.arange(len(values))  # the first round is an extra one, whose model does not count
    columns = {"round": number, "time_s": 2.0 * number, "energy_j": 3.0 * number, "test_accuracy": np.ones(len(values))}
    target = target_of(f"some_loss {sign} {limit!r}")
    met = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}[sign]
    found = next((row for row in number[1:] if met(values[row], target.limit)), None)
    reach = target.reach(accuracy_curve(columns), columns | {"some_loss": np.array(values)})
    assert reach.reached == (found is not None)
    if found is not None:
        assert (reach.time_s, reach.energy_j) == (2.0 * found, 3.0 * found)


@pytest.mark.oracle
@given(st.lists(st.floats(0, 1) | st.just(np.nan), max_size=9))
def test_the_proposed_accuracy_is_the_highest_percent_that_most_runs_reach(best):
    shown = instead_of_missed([target_of(0.99)], [False], best)
    percents = [
        number for number in range(1, 101) if sum(value + 1e-9 >= number / 100 for value in best) > len(best) / 2
    ]
    assert (shown and round(100 * shown.limit)) == (max(percents) if percents else None)
    assert instead_of_missed([target_of(0.99)], [False, True], best) is None


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: target_of("high"), "--target high: write an accuracy such as 0.8, or a limit such as 'test_loss<0.5'"),
        (lambda: target_of("80"), "--target 80: an accuracy must be > 0 and <= 1: write 0.8 for 80 %"),
        (lambda: target_of("test_loss<low"), "--target test_loss<low: write an accuracy"),
        (lambda: end_of("600"), "--at 600: write a time, an energy or rounds with a unit, such as 600s, 1.5kJ"),
        (lambda: end_of("5MHz"), "--at 5MHz: write a time"),
        (lambda: end_of("-5s"), "--at -5s: write a time"),
    ],
)
def test_texts_that_say_no_target_or_end(call, fault):
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value).startswith(fault)


def test_a_column_that_was_not_measured_is_named_with_those_that_were():
    columns = {"round": [1, 2], "time_s": [1, 2], "energy_j": [1, 2], "test_accuracy": [0.1, 0.2], "test_loss": [2, 1]}
    said = r"no tst_loss \(did you mean \"test_loss\"\?\): use one of round, time_s"
    with pytest.raises(InputError, match=said) as told:
        target_of("tst_loss<1").reach(accuracy_curve(columns), columns)
    assert "number" not in str(told.value)
    assert missed_sentence([target_of(0.9)], target_of(0.5)).startswith("No run reached 90 %: 50 % is")
