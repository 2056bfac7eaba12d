"""The page as a file: its texts, escaping, self-containment, writing."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from result_folders import make, rewrite

import edgefl.results.report
from edgefl.core.errors import InputError
from edgefl.results.report import write
from edgefl.results.report.comparison import headline
from edgefl.results.report.shared.read import load_all
from edgefl.results.report.shared.style import styled_run

EVIL = "</script><script>alert(1)</script>"


@pytest.fixture
def page(result, tmp_path):
    """The text of the page of one made-up run."""

    def build(**options):
        return write([result(**options)], tmp_path / "page.html").read_text(encoding="utf-8")

    return build


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A result folder, and the text of its page."""
    folder = make(tmp_path_factory.mktemp("usual") / "run")
    return folder, write([folder], folder.parent / "page.html").read_text(encoding="utf-8")


def own(text):
    """The page without its longest script."""
    scripts = re.findall(r"<script>.*?</script>", text, flags=re.DOTALL)
    return text.replace(max(scripts, key=len), "")


def figures(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_headline(usual):
    text = own(usual[1])
    assert "<h1>quickstart</h1>" in text
    assert "fedavg · digits (dirichlet, alpha 0.3) · mlp · 10 of 100 devices a round · 100 MHz at 3.5 GHz" in text
    for title in ("Final accuracy", "Virtual time", "Energy of all devices", "Rounds", "To 80 % accuracy"):
        assert f'<span class="name">{title}</span>' in text
    assert "not reached" not in text
    assert 'role="status"' not in text
    assert 'data-view="time" aria-pressed="true"' in text  # it opens on virtual time


def test_every_chart_has_its_figure(usual):
    _, text = usual
    wanted = ["accuracy", "loss", "map-0", "timeline-0", "chosen-0", "time-0", "energy-0", "each-0"]
    assert list(figures(text)["figures"]) == wanted
    assert re.findall(r'data-figure="([^"]+)"', own(text)) == wanted


def test_scenario_and_manifest_are_complete(usual):
    folder, text = usual
    assert (folder / "scenario.yaml").read_text(encoding="utf-8") in text
    assert "&#34;numpy&#34;: &#34;2.4.0&#34;" in text


def test_many_targets_have_a_row_of_their_own(page):
    text = own(page(targets=[0.5, 0.8, 0.9]))
    assert text.count('<div class="tiles">') == 2
    assert text.count('class="tile target"') == 3


def test_page_names_missed_target(page):
    assert own(page(rounds=3)).count("not reached") == 4  # two tiles, two rows


def test_target_of_other_run_is_a_dash(result, tmp_path):
    runs = load_all([result("a", name="a", targets=[0.5]), result("b", name="b", targets=[0.8])])
    table = ET.fromstring(f"<p>{headline.runs_table([styled_run(run, run.scenario['name'], 0) for run in runs])}</p>")  # noqa: S314
    rows = [["".join(cell.itertext()).strip() for cell in row] for row in table.iter("tr")]
    assert rows[0][-2:] == ["to 50 %", "to 80 %"]
    assert [[cell == "–" for cell in row[-2:]] for row in rows[1:]] == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("interrupted", "This run was interrupted after 9 of 60 rounds."),
        ("failed", "This run failed after 9 of 60 rounds."),
        ("running", "`edgefl run --resume` continues it; it had written 9 of 60 rounds."),
        ("odd", "has the status &#39;odd&#39;"),
    ],
)
def test_a_run_that_did_not_finish_says_so(page, status, said):
    text = own(page(rounds=9, status=status, error="RunError: <b>lost</b>"))
    assert said in text
    assert "RunError: &lt;b&gt;lost&lt;/b&gt;" in text


def test_a_run_without_learning(page):
    text = own(page(kind="none"))
    assert "priced without learning" in text
    assert 'data-figure="accuracy"' not in text
    assert "data-view" not in text
    assert "Final accuracy" not in text
    assert 'data-figure="timeline-0"' in text


def test_page_without_virtual_time_opens_on_rounds(result, tmp_path):
    folder = rewrite(result(), "rounds.csv", lambda _: {"time_s": 0, "duration_s": 0})
    text = own(write([folder], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert 'data-view="round" aria-pressed="true"' in text


def test_the_toy_problem(page):
    text = own(page(kind="quadratic"))
    assert 'data-figure="distance"' in text
    assert 'data-figure="accuracy"' not in text
    assert "Distance to the optimum" in text


def test_page_without_rounds(page):
    text = page(rounds=0, status="interrupted")
    assert "interrupted after 0 of 60 rounds" in text
    assert figures(text)["figures"] == {}


def test_one_round(page):
    assert len(figures(page(rounds=1))["figures"]) == 7


@pytest.mark.oracle
def test_several_runs(result, tmp_path):
    folders = [result("a"), result("b", radio__bandwidth_hz=50e6), result("c", kind="none", training__lr=0.2)]
    text = own(write(folders, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "<h1>quickstart: 3 runs</h1>" in text
    assert "<code>radio.bandwidth_hz</code>" in text
    assert text.count('<details class="run">') == 3
    assert 'aria-pressed="true">Virtual time' in text
    assert "lr 0.2, 100 MHz was priced without learning" in re.sub(r"<[^>]*>", "", text)


@pytest.mark.oracle
def test_shared_facts_are_stated_once(result, tmp_path):
    folders = [result(f"lr-{lr}", rounds=20, training__lr=lr, kind="none") for lr in (0.1, 0.2)]
    text = own(write(folders, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "The same in all runs: virtual time" in text
    tables = re.findall(r"<table.*?</table>", text, flags=re.DOTALL)
    assert not any("virtual time" in table for table in tables)
    assert any("<code>training.lr</code>" in table for table in tables)


@pytest.mark.oracle
def test_differing_facts_are_in_tables(result, tmp_path):
    folders = [result("a", rounds=20), result("b", rounds=10)]
    text = own(write(folders, tmp_path / "page.html").read_text(encoding="utf-8"))
    rows = re.findall(r'<th scope="row">rounds</th>(.*?)</tr>', text)
    assert rows == ["<td>20</td><td>10</td>"]
    assert "The same in all runs: late 0; departed 0." in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.oracle
def test_many_runs_are_folded(result, tmp_path):
    folders = [result(f"run-{seed}", seed=seed, rounds=1) for seed in range(6)]
    text = own(write(folders, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert text.count('<details class="run">') == 6
    # Two stand side by side.
    text = own(write(folders[:2], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert text.count('<details class="run" open>') == 2


@pytest.mark.oracle
@pytest.mark.parametrize("together", [1, 2])
def test_texts_from_files_are_escaped(result, tmp_path, together):
    changes = {"name": EVIL, "data__dataset": EVIL, "algorithm": {"kind": EVIL}}
    folders = [
        result(f"run-{n}", status=EVIL, error=EVIL, training__lr=f"{EVIL}{n}", **changes) for n in range(together)
    ]
    for folder in folders:
        lines = (folder / "devices.csv").read_text(encoding="utf-8").replace("received", EVIL)
        (folder / "devices.csv").write_text(lines, encoding="utf-8")
    text = own(write(folders, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert text.count("<script") == text.count("</script>") == 3  # in the head, packed Plotly, and the data
    assert EVIL in json.dumps(figures(text))


def test_nothing_is_loaded_from_elsewhere(usual):
    text = own(usual[1])
    assert not re.search(r"""(src|href|action|data)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text)
    assert "default-src 'none'" in text


@pytest.mark.oracle
def test_the_data_stay_small(result, tmp_path):
    folder = result(rounds=300, devices__count=1000, server__participants=15)
    text = write([folder], tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(json.dumps(figures(text))) < 250_000
    assert len(text.encode()) < 5_100_000


def test_the_same_folder_makes_the_same_page(usual):
    folder, text = usual
    assert write([folder], folder.parent / "again.html").read_text(encoding="utf-8") == text


@pytest.mark.process
def test_no_heavy_import():
    heavy = "{'torch', 'pandas', 'plotly', 'scipy', 'simpy', 'pyarrow'}"
    code = f"import sys, edgefl.results.report; found = {heavy} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestWriting:
    @pytest.mark.oracle
    def test_makes_its_folder_and_replaces_an_older_page(self, usual, tmp_path):
        out = tmp_path / "deep" / "er" / "page.html"
        for _ in range(2):
            assert write([usual[0]], out) == out
            assert out.stat().st_mode & 0o777 == 0o644
            assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
            assert [path.name for path in out.parent.iterdir()] == ["page.html"]
            out.write_text("old", encoding="utf-8")

    def test_failure_leaves_only_the_older_page(self, result, tmp_path, monkeypatch):
        out = tmp_path / "page.html"
        folder = result()
        out.write_text("old", encoding="utf-8")
        monkeypatch.setattr(edgefl.results.report, "render", lambda *_: "half a \ud800 page")  # cannot be encoded
        with pytest.raises(UnicodeEncodeError):
            write([folder], out)
        assert out.read_text(encoding="utf-8") == "old"
        assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["page.html"]

    def test_bad_folders_are_all_named_and_nothing_is_written(self, result, tmp_path):
        good = result("good")
        bad = result("bad")
        (bad / "rounds.csv").unlink()
        with pytest.raises(InputError) as caught:
            write([good, bad, tmp_path / "none"], tmp_path / "page.html")
        first, second = caught.value.faults
        assert str(bad) in first
        assert "rounds.csv" in first
        assert str(tmp_path / "none") in second
        assert not (tmp_path / "page.html").exists()
