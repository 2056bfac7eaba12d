"""Damaged and unusual folders: each gives a page, or one line that says why not, with exit code 2."""

import re
import shutil

import pytest
import sweep_folders
import yaml
from result_folders import make, read_csv, scenario, write_csv

from edgefl.cli import main
from edgefl.results.report import page
from edgefl.results.report.shared.read import load

EVIL = '<img src=x onerror="alert(1)"> 🛰️ \u202e&amp; {{x}} $title'
BLOCKS = [key for key, value in scenario().items() if isinstance(value, dict)]
LEAVES = [(block, key) for block in BLOCKS for key in scenario()[block]]
PATHS = [*((key,) for key in scenario()), *LEAVES, ("sessions",), ("devices", "groups")]
ODD = [3, -1, [1], "x", None, {"kind": [1]}, [{"name": 1}], True, 1e300]


@pytest.fixture
def report(tmp_path, capsys):
    """Runs `edgefl report` on folders and returns its exit code, the page's text (None without), and the errors."""

    def run(*folders):
        out = tmp_path / "page.html"
        code = main(["report", *map(str, folders), "-o", str(out)])
        errors = capsys.readouterr().err
        return code, out.read_text(encoding="utf-8") if out.exists() else None, errors

    return run


def refused(answer):
    """The single line that says why the report is refused."""
    code, text, errors = answer
    assert code == 2
    assert text is None
    assert errors.count("\n") == 1
    return errors


def without_columns(folder, name, columns):
    rows = read_csv(folder / name)
    kept = [column for column in rows[0] if column not in columns]
    write_csv(folder / name, kept, [{column: row[column] for column in kept} for row in rows])


class TestDamagedFolders:
    def test_missing_column_is_refused(self, report, tmp_path):
        folder = make(tmp_path / "old")
        without_columns(folder, "devices.csv", {"distance_m"})
        assert "devices.csv: column distance_m is missing" in refused(report(folder))

    @pytest.mark.oracle
    @pytest.mark.parametrize("at", range(len(ODD)), ids=lambda at: repr(ODD[at]))
    def test_keys_that_hold_something_else(self, tmp_path, at):
        """A page for every fourth key of the scenario and of its blocks, so that each key holds two values or three."""
        folder = make(tmp_path / "odd", rounds=2)
        other = load(make(tmp_path / "other", rounds=2))
        for path in PATHS[at % 4 :: 4]:
            changed = scenario()
            block = changed
            for key in path[:-1]:
                block = block[key]
            block[path[-1]] = ODD[at]
            (folder / "scenario.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
            assert "</html>" in page.render([load(folder)])
        assert "</html>" in page.render([load(folder), other])

    def test_targets_of_another_shape_beside_another_run(self, report, tmp_path):
        folders = [make(tmp_path / "a", rounds=2), make(tmp_path / "b", rounds=2)]
        changed = scenario(targets=3)
        (folders[0] / "scenario.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
        assert report(*folders)[0] == 0


class TestHalfRuns:
    def half(self, folder):
        (make(folder, status="running") / "summary.json").unlink()
        return folder

    def test_participants_of_rounds_that_never_ended(self, report, tmp_path):
        folder = self.half(tmp_path / "half")
        lines = (folder / "rounds.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "rounds.csv").write_text("".join(lines[:9]), encoding="utf-8")
        code, text, _ = report(folder)
        assert code == 0
        assert "it had written 8 of 60 rounds" in text

    @pytest.mark.parametrize("name", ["rounds.csv", "devices.csv"])
    def test_a_table_that_was_cut_off(self, report, tmp_path, name):
        folder = self.half(tmp_path / "half")
        lines = (folder / name).read_bytes().split(b"\r\n")
        (folder / name).write_bytes(b"\r\n".join([*lines[:20], lines[20][:9]]))
        line = refused(report(folder))
        assert f"{name}: line 21 ends too early: the file was cut off" in line

    @pytest.mark.parametrize("name", ["rounds.csv", "devices.csv", "scenario.yaml", "manifest.json"])
    def test_a_file_that_is_not_there_or_empty(self, report, tmp_path, name):
        folder = self.half(tmp_path / "half")
        (folder / name).write_text("", encoding="utf-8")
        assert name in refused(report(folder))
        (folder / name).unlink()
        if name == "rounds.csv":  # before its first rows a run has none: the page has no rounds
            code, text, _ = report(folder)
            assert code == 0
            assert "it had written 0 of 60 rounds" in text
        else:
            assert name in refused(report(folder))


class TestSweeps:
    def test_one_failed_point(self, report, tmp_path):
        folder = sweep_folders.make(
            tmp_path / "s",
            sweep_folders.BANDWIDTHS,
            change=lambda at, _: sweep_folders.FAILED if at["radio.bandwidth_hz"] == 50_000_000 else {},
        )
        code, text, _ = report(folder)
        assert code == 0
        assert "6 of 9 runs have finished (3 failed)" in text
        assert text.count("round 1: diverged") == 3

    def test_all_points_failed(self, report, tmp_path):
        folder = sweep_folders.make(tmp_path / "s", sweep_folders.BANDWIDTHS, change=lambda *_: sweep_folders.FAILED)
        code, text, _ = report(folder)
        assert code == 0
        assert "0 of 9 runs have finished (9 failed)" in text

    def test_the_folder_of_a_run_is_gone(self, report, tmp_path):
        folder = sweep_folders.make(tmp_path / "s", sweep_folders.BANDWIDTHS)
        shutil.rmtree(folder / "2")
        assert "2/seed-1: not a result folder: no such folder" in refused(report(folder))


@pytest.mark.oracle
def test_ten_thousand_devices(report, tmp_path):
    folder = make(tmp_path / "many", rounds=2, devices__count=10_000, server__participants=10_000)
    code, text, _ = report(folder)
    assert code == 0
    assert "10,000 devices" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert len(text) < 3_000_000  # Plotly takes 2 MB of it


@pytest.mark.oracle
def test_markup_and_emoji_stay_text(report, tmp_path):
    groups = [{"name": EVIL, "count": 60}, {"name": "📱\n", "count": 40}]
    options = {"name": EVIL, "devices": {"count": 100, "groups": groups}, "status": "failed", "error": f"💥 {EVIL}"}
    folders = [make(tmp_path / f"<b>🛰️ & {seed}", rounds=2, seed=seed, **options) for seed in (1, 2)]
    for chosen in (folders[:1], folders):
        code, text, _ = report(*chosen)
        assert code == 0
        without_json = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
        assert "<img" not in text
        assert "&lt;img src=x" in without_json
        assert "🛰️" in text
        assert "💥" in text
        assert "{{x}} $title" in text  # no template of any kind


@pytest.mark.browser
def test_markup_and_emoji_in_a_browser(report, tmp_path, open_page):
    name = "<i>📡</i> &lt;b&gt;"
    folder = make(tmp_path / "run", rounds=3, name=name)
    report(folder)
    browser = open_page(tmp_path / "page.html")
    assert browser.find_element("tag name", "h1").text == name
    assert browser.get_log("browser") == []
