"""Links between the page of a sweep and the pages of its runs."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from result_folders import make as make_run
from result_folders import rewrite
from selenium.webdriver.common.by import By
from sweep_folders import BANDWIDTHS, FAILED, make

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.report import write


def a_sweep(folder, **options):
    """The folder of a sweep over bandwidths with seeds 1 and 2, whose runs have complete result folders."""
    made = make(folder, BANDWIDTHS, seeds=(1, 2), **options)
    for path in sorted(made.glob("*/seed-*")):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
        make_run(path, rounds=5)
    return made


def links(page):
    """The files that a page links to, as paths."""
    found = re.findall(r'href="([^"#][^"]*)"', page.read_text(encoding="utf-8"))
    return [(page.parent / unquote(unescape(address))).resolve() for address in found]


@pytest.mark.oracle
def test_pages_of_runs_and_sweep_link_to_each_other(tmp_path):
    folder = a_sweep(tmp_path / "a sweep #1 & <b>")
    page = edgefl.report(folder, runs=True)
    pages = sorted(folder.glob("*/seed-*/report.html"))
    assert len(pages) == 6
    assert sorted(links(page)) == [path.resolve() for path in pages]
    for run_page in pages:
        assert links(run_page) == [page.resolve()]
        assert "sweep a sweep #1 &amp; &lt;b&gt;</a>" in run_page.read_text(encoding="utf-8")
    rows = re.findall(r'<tr data-point="(\d)">(.*?)</tr>', page.read_text(encoding="utf-8"))
    assert len(rows) == 3
    for number, row in rows:  # each row links to its own runs
        expected = [f"{int(number) + 1}/seed-{seed}/report.html" for seed in (1, 2)]
        assert re.findall(r'href="([^"]+)"', row) == expected
    # A page outside its folder has no links.
    assert links(write([folder], tmp_path / "elsewhere.html")) == []
    assert links(write([folder / "1" / "seed-1"], tmp_path / "elsewhere.html")) == []


@pytest.mark.oracle
def test_only_pages_that_exist_are_linked(tmp_path):
    folder = a_sweep(tmp_path / "s")
    assert links(write([folder], folder / "report.html")) == []
    other = make_run(tmp_path / "other", rounds=5)
    write([other], other / "report.html")
    (folder / "1" / "seed-1" / "report.html").symlink_to(other / "report.html")
    only = folder / "2" / "seed-1"
    write([only], only / "report.html")
    assert links(write([folder], folder / "report.html")) == [(only / "report.html").resolve()]
    # The page of a run links to a sweep that lists it, and that can be read.
    stranger = make_run(folder / "mine" / "run", rounds=5)
    assert links(write([stranger], stranger / "report.html")) == []
    (folder / "sweep.yaml").write_text("[", encoding="utf-8")
    assert links(write([only], only / "report.html")) == []


@pytest.mark.oracle
def test_a_failed_run_has_no_page(tmp_path):
    folder = a_sweep(
        tmp_path / "s", change=lambda at, seed: FAILED if seed == 2 and at["radio.bandwidth_hz"] == 50e6 else {}
    )
    page = edgefl.report(folder, runs=True)
    assert len(links(page)) == 5
    assert not (folder / "1" / "seed-2" / "report.html").exists()


@pytest.mark.parametrize("outside", ["../other", "1/../../other"])
def test_no_link_leaves_the_folder(tmp_path, outside):
    folder = a_sweep(tmp_path / "s")
    make_run(tmp_path / "other", rounds=5)
    rewrite(folder, "index.csv", lambda row: {"folder": outside} if row["folder"] == "1/seed-1" else {})
    with pytest.raises(InputError, match="must lie within the sweep's folder"):
        write([folder], folder / "report.html")  # whose curves would be read


def test_pages_of_runs_are_those_of_a_sweep(tmp_path):
    run = make_run(tmp_path / "run", rounds=5)
    with pytest.raises(InputError, match="name the folder of one sweep"):
        edgefl.report(run, runs=True)
    assert not (run / "report.html").exists()


@pytest.mark.browser
def test_links_lead_to_run_and_back(tmp_path, open_page):
    folder = a_sweep(tmp_path / "s")
    browser = open_page(edgefl.report(folder, runs=True))
    browser.find_element(By.CSS_SELECTOR, ".points .runs a").click()
    assert Path(unquote(browser.current_url.removeprefix("file://"))) == folder / "1" / "seed-1" / "report.html"
    browser.find_element(By.CSS_SELECTOR, ".subtitle a").click()
    assert Path(unquote(browser.current_url.removeprefix("file://"))) == folder / "report.html"
