"""`edgefl export`: tables in every format, of one run and of several; what is refused."""

import io
import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from export_cases import BASE, RUNS, exported, frame, made
from terminals import shown_by

import edgefl
from edgefl.cli import main
from edgefl.core.words import words_of
from edgefl.results.export import EXPORT_TABLES, format_of

CASES = ("synchronous", "overlapping", "sessions")
KEYS = ["session", "round", "device"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folders")
    for name in CASES:
        edgefl.run(BASE | RUNS[name], train=False, out=folder / name)
    return [folder / name for name in CASES]


def test_tables_of_files_are_the_files(folders):
    for name in ("rounds", "devices"):
        assert exported(folders[:1], "csv", ("table", name)) == (folders[0] / f"{name}.csv").read_bytes()


@pytest.mark.parametrize("table", EXPORT_TABLES)
def test_all_formats_say_the_same(folders, table):
    """Parquet and JSON have types, and the same rows."""
    plain = frame(folders, table)
    typed = frame(folders, table, "parquet")
    pd.testing.assert_frame_equal(plain, typed.astype(plain.dtypes.to_dict()), rtol=1e-11)
    rows = json.loads(exported(folders, "json", ("table", table)))
    assert len(rows) == len(plain)
    assert all(list(row) == list(plain) for row in rows)
    for row, (_, other) in zip(rows[:50], typed.head(50).iterrows(), strict=False):
        assert {key: value for key, value in row.items() if value is not None} == {
            key: value for key, value in other.items() if not pd.isna(value)
        }


def test_parquet_has_fitting_types(folders):
    types = frame(folders[:1], "devices", "parquet").dtypes.astype(str)
    assert types["device"] == types["bytes_up"] == "int64"
    assert types["los"] == "bool"
    assert types["upload_s"] == types["wait_s"] == "float64"


@pytest.mark.parametrize("table", EXPORT_TABLES)
def test_several_runs_stand_below_each_other(folders, table):
    several = frame(folders, table)
    assert several.columns[0] == "run"
    for folder in folders:
        alone = frame([folder], table)
        assert "run" not in alone
        own = several[several["run"] == str(folder)].reset_index(drop=True)[alone.columns]
        pd.testing.assert_frame_equal(own.astype(alone.dtypes.to_dict()), alone)


def test_columns_that_only_some_runs_have(tmp_path):
    for name, extra in (("a", {"handovers": [1, 2]}), ("b", {})):
        folder = made(tmp_path / name, accuracies=[0.1, 0.2])
        columns = pd.read_csv(folder / "rounds.csv").assign(**extra)
        columns.to_csv(folder / "rounds.csv", index=False)
    both = frame([tmp_path / "a", tmp_path / "b"], "rounds", "parquet")
    assert both["handovers"].tolist()[:2] == [1, 2]
    assert both["handovers"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("place", range(len(CASES)))
def test_phases_follow_each_other_to_the_round_s_end(folders, place):
    """Phases fit together also if parts overlap rounds: devices.csv says how long, rounds.csv when it ended."""
    phases = frame([folders[place]], "phases")
    rounds = pd.read_csv(folders[place] / "rounds.csv")
    ends = rounds.set_index(["session", "round"])["time_s"]
    for (session, number, _), part in phases.groupby(KEYS):
        assert part["phase"].tolist() == ["download", "compute", "upload", "wait"]
        stops = part["start_s"] + part["duration_s"]
        assert part["start_s"].tolist()[1:] == pytest.approx(stops.tolist()[:-1], rel=1e-11)
        assert stops.iloc[-1] == pytest.approx(ends[session, number], rel=1e-10)
    devices = pd.read_csv(folders[place] / "devices.csv")
    assert phases["energy_j"].sum() == pytest.approx(rounds["round_energy_j"].sum(), rel=1e-10)
    assert phases["bytes"].sum() == devices[["bytes_down", "bytes_up"]].to_numpy().sum()


def test_a_part_begins_with_its_round_to_the_last_digit(folders):
    phases = frame(folders[:1], "phases")
    rounds = pd.read_csv(folders[0] / "rounds.csv")
    begins = [0.0, *rounds["time_s"][:-1]]
    assert sorted(set(phases[phases["phase"] == "download"]["start_s"])) == begins


def test_summary_and_targets_of_runs(tmp_path):
    folders = [
        made(tmp_path / "a", accuracies=[0.1, 0.6], targets=[0.5, 0.9]),
        made(tmp_path / "b", seed=2, accuracies=[0.1, 0.2, 0.95], targets=[0.5, 0.9]),
    ]
    summary = frame(folders, "summary", "parquet")
    assert summary["seed"].tolist() == [1, 2]
    assert summary["last_mean_accuracy"].tolist() == [0.6, 0.95]
    targets = frame(folders, "targets", "parquet")
    assert targets["reached"].tolist() == [True, False, True, True]
    assert targets["round"].tolist()[::2] == [2, 3]
    assert targets["time_s"].isna().tolist() == [False, True, False, False]


def test_everything_as_json(folders):
    alone = json.loads(exported(folders[:1], "json"))
    several = json.loads(exported(folders, "json"))
    assert list(alone) == ["manifest", "summary", "rounds", "devices"]
    assert len(alone["devices"]) == len(pd.read_csv(folders[0] / "devices.csv"))
    assert [run["run"] for run in several] == [str(folder) for folder in folders]
    assert several[0] == alone | {"run": str(folders[0])}


def test_values_that_are_not_finite_are_null_in_json(tmp_path):
    folder = made(tmp_path / "a", accuracies=[0.1, float("nan"), float("inf")])
    rows = json.loads(exported([folder], "json", ("table", "rounds")))
    assert [row["test_accuracy"] for row in rows] == [0.1, None, None]


def test_rows_are_streamed(folders, monkeypatch):
    """Much is written before all is read, by every format whose size grows with the rows."""
    from edgefl.results import reader

    class Sink(io.BytesIO):
        def write(self, content):
            sizes.append(read[0])
            return super().write(content)

        def writelines(self, lines):
            for line in lines:
                self.write(line)

    read = [0]
    sizes = []
    rows = reader.rows_of

    def counted(*arguments):
        for row in rows(*arguments):
            read[0] += 1
            yield row

    from edgefl.results.export import as_csv, as_json, participations, tables, trace

    for module in (tables, participations, trace, as_json):
        monkeypatch.setattr(module, "rows_of", counted)
    for write in (as_csv.write, as_json.write, trace.write):
        read[0] = 0
        sizes.clear()
        write(folders[:1], None, Sink(), "csv")
        assert len(sizes) > 20
        assert sizes[len(sizes) // 2] < 0.8 * read[0]


# Refusals

REFUSED = words_of(__file__, "export_refusals.yaml")


@pytest.mark.parametrize("wrong", REFUSED.values(), ids=REFUSED)
def test_refused(folders, wrong, monkeypatch, capsys):
    monkeypatch.chdir(folders[0].parent)
    before = sorted(folders[0].parent.rglob("*"))
    assert main(["export", *(CASES[0] if one == "run" else one for one in wrong["arguments"])]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("edgefl: ")
    assert wrong["message"] in error
    assert error.count("\n") == 1
    assert sorted(folders[0].parent.rglob("*")) == before


DAMAGES = ["cut", "binary", "empty", "letters"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("form", "damage"),
    [*zip(["csv", "parquet", "json", "trace"], DAMAGES, strict=True), ("latex", "cut"), ("png", "cut")],
)
def test_a_damaged_folder_leaves_the_earlier_file_alone(folders, tmp_path, form, damage, capsys):
    name = "rounds.csv" if form == "latex" else "devices.csv"
    content = (folders[0] / name).read_bytes()
    shutil.copytree(folders[0], tmp_path / "run")
    broken = {
        "cut": content[: -len(content.splitlines()[-1]) // 2 - 1],
        "binary": bytes(range(256)),
        "empty": b"",
        "letters": content.replace(b"1,1,", b"1,x,", 1),
    }
    (tmp_path / "run" / name).write_bytes(broken[damage])
    (tmp_path / "out").write_bytes(b"earlier")
    assert main(["export", str(tmp_path / "run"), "--format", form, "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"edgefl: {tmp_path / 'run'}")
    assert (tmp_path / "out").read_bytes() == b"earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "out"}


def test_binary_formats_are_not_written_to_a_terminal(finished):
    code, shown = shown_by(finished.start, "export", "out", "--format", "parquet", streams=("stdout", "stderr"))
    assert code == 2
    assert shown == b"edgefl: export: --format parquet cannot be shown in a terminal: name a file with -o\r\n"


def test_binary_goes_through_a_pipe_and_over_an_earlier_file(finished):
    with finished.start("export", "out", "--format", "parquet", stdout=subprocess.PIPE) as process:
        piped = process.stdout.read()
    finished.write("there.parquet", "earlier")
    assert finished("export", "out", "--format", "parquet", "-o", "there.parquet").stdout == "there.parquet\n"
    assert (finished.folder / "there.parquet").read_bytes() == piped
    assert len(pd.read_parquet(io.BytesIO(piped))) == 4 * 12


SUFFIXES = {
    "csv": "csv",
    "JSON": "json",
    "parquet": "parquet",
    "tex": "latex",
    "md": "markdown",
    "zip": "ro-crate",
    "png": "png",
    "pdf": "pdf",
    "safetensors": "safetensors",
}


@pytest.mark.parametrize(("suffix", "form"), SUFFIXES.items())
def test_format_follows_from_the_suffix(suffix, form):
    assert format_of(None, Path(f"a.b/x.{suffix}")) == form
    assert format_of(form, Path(f"x.{suffix}")) == form


def test_format_that_is_asked_for_may_have_any_suffix_but_that_of_another():
    assert format_of("trace", Path("x.json")) == "trace"
    assert format_of("csv", Path("x.txt")) == "csv"
    assert format_of("csv", None) == "csv"


def test_export_by_suffix_writes_the_same_bytes(folders, tmp_path):
    for name, form in (("x.csv", "csv"), ("x.json", "json"), ("x.md", "markdown")):
        assert main(["export", str(folders[0]), "-o", str(tmp_path / name)]) == 0
        assert main(["export", str(folders[0]), "--format", form, "-o", str(tmp_path / f"y{name[1:]}")]) == 0
        assert (tmp_path / name).read_bytes() == (tmp_path / f"y{name[1:]}").read_bytes()
