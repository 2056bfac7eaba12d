"""A run shows its progress in notebooks and in IPython, and nothing in programs."""

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import edgefl

SCENARIO = {"name": "shown", "rounds": 3, "devices": {"count": 4}, "server": {"participants": 2}}


@pytest.fixture
def ipython(monkeypatch):
    """Return a stand-in for IPython, with a kernel, and what it was given to show."""
    shown = []
    handle = SimpleNamespace(update=lambda content, **_: shown.append(content))

    def display(content, **_):
        shown.append(content)
        return handle

    package = ModuleType("IPython")
    package.display = ModuleType("IPython.display")
    package.display.display = display
    package.shell = SimpleNamespace(kernel=object())
    package.shown = shown
    package.get_ipython = lambda: package.shell
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", package.display)
    return package


def test_notebook_shows_a_bar_that_ends_with_the_last_round(ipython, capsys):
    edgefl.run(SCENARIO, train=False)
    assert ipython.shown[0]["text/plain"] == "shown: round 0 of 3"
    assert ipython.shown[-1]["text/plain"].startswith("shown: round 3 of 3, ")
    assert '<progress max="3" value="3"></progress> shown: round 3 of 3' in ipython.shown[-1]["text/html"]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


CELLS = {
    "import edgefl\ndir(edgefl) == sorted(edgefl.__all__)": "True",
    "edgefl.run({'round': 5})": 'InputError: scenario: round: unknown key (did you mean "rounds"?)',
    "edgefl.sweep({'base': {'rounds': 2}, 'seeds': [1, 2]}, train=False, out='out')": "sweep: run 2 of 2, ",
}


@pytest.mark.process
def test_notebook_completes_names_shows_a_mistake_in_a_line_and_the_runs_of_a_sweep(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(edgefl.__file__).parents[1]), *sys.path]))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell, expected in zip(notebook.cells, CELLS.values(), strict=True):
        first = cell.outputs[0]
        assert (first.get("traceback") or [first.data["text/plain"]])[0].startswith(expected)
    assert len(notebook.cells[1].outputs[0].traceback) == 1


@pytest.mark.parametrize("loaded", [True, False])
def test_program_stays_silent(ipython, loaded, monkeypatch, capsys):
    ipython.shell = None
    if not loaded:
        monkeypatch.delitem(sys.modules, "IPython")
    edgefl.run(SCENARIO, train=False)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert ("IPython" in sys.modules) == loaded
    assert ipython.shown == []
