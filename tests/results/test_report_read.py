"""Result folders as columns, and errors for other folders."""

import json
import math

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.results import reader
from edgefl.results.reader import read_documents
from edgefl.results.report.shared import read


def faults(folder):
    with pytest.raises(InputError) as caught:
        read.load(folder)
    assert len(caught.value.faults) == 1
    assert "\n" not in caught.value.faults[0]
    return caught.value.faults[0]


def test_columns_and_mappings(result):
    run = read.load(result(rounds=5))
    assert run.scenario["radio"]["bandwidth_hz"] == 100e6
    assert run.manifest["status"] == "finished"
    assert run.rounds["round"].tolist() == [1, 2, 3, 4, 5]
    assert run.devices["device"].shape == (50,)
    assert run.devices["status"].tolist() == ["received"] * 50
    assert run.devices["row"].tolist() == [row for row in range(5) for _ in range(10)]
    assert run.final_accuracy == run.rounds["test_accuracy"][-1]


@pytest.mark.parametrize("name", ["scenario.yaml", "manifest.json", "rounds.csv", "devices.csv", "summary.json"])
def test_a_missing_file_is_named_with_its_folder(result, name):
    folder = result()
    (folder / name).unlink()
    fault = faults(folder)
    assert str(folder) in fault
    assert name in fault


def test_no_such_folder(tmp_path):
    assert "no such folder" in faults(tmp_path / "nowhere")


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(20))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("manifest.json", "{", "not JSON"),
        ("summary.json", "[1]", "expected a mapping, got list"),
        ("scenario.yaml", "a: [", "not YAML"),
        ("scenario.yaml", BOMB, "not YAML: more than 1000000 entries, with aliases expanded"),
        ("scenario.yaml", "a: " + "[" * 100_000, "not YAML: "),
        ("scenario.yaml", "a: &a [*a]", "not YAML: nested too deeply, or an alias stands within its own anchor"),
        ("summary.json", '{"time_s": 1' + "0" * 400 + "}", "not JSON"),
        ("scenario.yaml", "just text", "expected a mapping, got str"),
        ("summary.json", '{"drops": 5}', "drops: expected a mapping; the file is damaged"),
        ("summary.json", '{"fairness": "x"}', "fairness: expected a mapping; the file is damaged"),
        ("summary.json", '{"targets": [5]}', "targets: expected a list of mappings; the file is damaged"),
        ("summary.json", '{"targets": [{"accuracy": 0.8}]}', "targets: expected numbers; the file is damaged"),
        ("rounds.csv", "session,round\n1,1\n", "column time_s is missing"),
        ("devices.csv", "", "column session is missing"),
    ],
)
def test_a_file_of_another_kind(result, name, text, said):
    folder = result()
    (folder / name).write_text(text, encoding="utf-8")
    fault = faults(folder)
    assert said in fault
    assert f"{folder}/{name}" in fault


@pytest.mark.parametrize(
    ("name", "column", "cell"), [("rounds.csv", "time_s", "1e300"), ("devices.csv", "device", "-1")]
)
def test_number_out_of_bounds_is_refused(result, name, column, cell):
    folder = result()
    header, first, *others = (folder / name).read_text().splitlines()
    cells = first.split(",")
    cells[header.split(",").index(column)] = cell
    (folder / name).write_text("\n".join([header, ",".join(cells), *others]))
    assert f"{column}: must be a" in faults(folder)


def test_error_names_line_of_non_numeric_cell(result):
    folder = result(rounds=3)
    path = folder / "rounds.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[2] = lines[2].replace("1,2,", "1,two,", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    assert "'two'" in faults(folder)


def test_empty_cells_are_not_numbers_and_not_zero(result):
    run = read.load(result(kind="none"))
    assert np.isnan(run.rounds["test_accuracy"]).all()
    assert not run.learned
    assert run.last("test_accuracy") is None
    assert run.targets == []  # nothing was measured, so nothing was missed


def test_the_toy_problem_has_its_columns_others_have_them_empty(result):
    toy = read.load(result("toy", kind="quadratic"))
    usual = read.load(result("usual"))
    assert toy.last("distance_to_optimum") == pytest.approx(10 * 0.9**60)
    assert toy.learned
    assert usual.last("distance_to_optimum") is None


def test_an_interrupted_run_may_lack_its_summary(result):
    folder = result(rounds=4, status="interrupted")
    (folder / "summary.json").unlink()
    run = read.load(folder)
    assert run.total("time_s") == run.rounds["time_s"][-1]
    assert run.final_accuracy == run.rounds["test_accuracy"][-1]


def test_a_header_alone_is_a_run_without_rounds(result):
    run = read.load(result(rounds=0, status="interrupted"))
    assert run.length == 0
    assert run.devices["row"].shape == (0,)


def test_devices_of_a_round_that_never_ended_are_left_out(result):
    folder = result(rounds=5)
    lines = (folder / "rounds.csv").read_text(encoding="utf-8").splitlines()
    (folder / "rounds.csv").write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    run = read.load(folder)
    assert run.devices["round"].max() == 4
    assert run.devices["row"].size == 40


def test_sessions_that_count_from_one_again_are_numbered_on(result):
    folder = result(rounds=4)
    for name in ("rounds.csv", "devices.csv"):
        text = (folder / name).read_text(encoding="utf-8")
        text = text.replace("\n1,3,", "\n2,1,").replace("\n1,4,", "\n2,2,")
        (folder / name).write_text(text, encoding="utf-8")
    run = read.load(folder)
    assert run.rounds["round"].tolist() == [1, 2, 1, 2]
    assert run.rounds["number"].tolist() == [1, 2, 3, 4]
    assert np.unique(run.devices["row"]).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
def test_reading_in_parts_changes_nothing(result, monkeypatch, rows):
    folder = result(rounds=5)
    whole = read.load(folder).devices
    monkeypatch.setattr(reader, "ROWS_AT_A_TIME", rows)
    parts = read.load(folder).devices
    for name, column in whole.items():
        np.testing.assert_array_equal(column, parts[name])


def test_not_a_number_in_the_summary_is_refused(result):
    folder = result()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8")) | {"time_s": math.nan}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    with pytest.raises(InputError, match=r"summary.json: not JSON: NaN is not a finite number"):
        read.load(folder)


@pytest.mark.parametrize("name", ["manifest.json", "scenario.yaml"])
def test_names_with_control_characters_are_read_escaped(result, name):
    """Those of others' results, which no validation has seen, may hold escapes of a terminal."""
    folder = result()
    path = folder / name
    path.write_text(
        path.read_text().replace("{", '{"label": "a\\u001b[31m",', 1) if "json" in name else 'label: "a\\e[31m"\n'
    )
    documents = read_documents(folder)
    shown = {"manifest.json": documents.manifest, "scenario.yaml": documents.scenario}[name]
    assert shown["label"] == r"a\x1b[31m"
