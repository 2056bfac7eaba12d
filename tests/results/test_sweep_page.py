"""The page of a sweep as text: failed runs, sweeps without learning, escaping, equal bytes."""

import json
import re
from html import unescape

from sweep_folders import BANDWIDTHS, FAILED, make, statistics

from edgefl.results.report import write


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1])


def test_failed_runs_are_listed_and_left_out(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, change=lambda _, seed: FAILED if seed == 2 else {})
    page = write([folder], tmp_path / "page.html")
    text = page.read_text()
    assert "6 of 9 runs have finished (3 failed). This page covers the finished runs only." in text
    assert text.count("round 1: diverged") == 3
    assert "2 of 3" in text
    assert [row["finished"] for row in statistics(page)] == ["2", "2", "2"]


def test_priced_sweeps_have_no_targets(tmp_path):
    page = write([make(tmp_path / "s", BANDWIDTHS, train=False)], tmp_path / "page.html")
    found = data_of(page)
    assert [goal["title"] for goal in found["goals"]] == ["the whole run"]
    assert found["curves"] is None
    assert "there are no learning curves" in page.read_text()


def test_a_sweep_of_seeds_alone(tmp_path):
    page = write([make(tmp_path / "s", {})], tmp_path / "page.html")
    assert len(statistics(page)) == 1
    assert data_of(page)["points"] == [[]]


def test_texts_are_escaped(tmp_path):
    evil = "</script><script>alert(1)</script>"

    def change(_, seed):
        return FAILED | {"error": evil} if seed == 2 else {}

    folder = make(tmp_path / "s", {"data.path": [evil, "b"]}, change=change)
    text = write([folder], tmp_path / "page.html").read_text()
    assert evil not in text
    assert evil in unescape(text)


def test_the_same_folder_gives_the_same_bytes(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS)
    pages = [write([folder], tmp_path / name / "page.html") for name in ("a", "b")]
    assert pages[0].read_bytes() == pages[1].read_bytes()
