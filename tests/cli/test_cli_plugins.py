"""Scenarios that name code from outside, at the command line: what is imported when, and every fault in one line."""

import json
from dataclasses import replace

import pytest
from scenario_schema import scenario_schema

from edgefl.cli.listing import CATALOGUES

SCENARIO = """\
rounds: 2
data: {dataset: synthetic, owners: 8, features: 5, classes: 3}
training: {local_steps: 2, batch_size: 4, engine: serial}
devices: {count: 8}
server:
  participants: 4
  selection: {kind: "mine:Mine", share: 0.5}
"""
SELECTION = """\
from typing import Annotated

from pydantic import Field

from edgefl.coordination.selection.base import Selection


class Mine(Selection):
    '''Mine.'''

    share: Annotated[float, Field(gt=0, le=1)] = 1.0

    def choose(self, present, participants, index, streams, view):
        return present[: round(self.share * participants)]


def helper():
    print("called")
    return Mine()
"""


@pytest.fixture
def own(edgefl):
    """A shell with a scenario and the module beside it, which prints a line when it is imported."""
    edgefl.write("own.yaml", SCENARIO)
    edgefl.write("mine.py", 'print("imported")\n' + SELECTION)
    return edgefl


def test_validate_imports_nothing_unless_asked(own):
    done = own("validate", "own.yaml")
    text = "but mine:Mine was not imported, so its keys were not checked (--import)"
    assert done.stdout.splitlines() == [f"own.yaml: ok, {text}"]
    assert own("validate", "--import", "own.yaml").stdout.splitlines() == ["imported", "own.yaml: ok"]


def test_validate_checks_all_other_keys_without_an_import(own):
    own.write("own.yaml", SCENARIO + "radio: {bandwith_hz: 1e6}\nchurn: {kind: bernoulli, probability: 2}\n")
    lines = own.refused("validate", "own.yaml")
    assert [line.split(": ")[:2] for line in lines] == [
        ["own.yaml:8", "radio.bandwith_hz"],
        ["own.yaml:9", "churn.probability"],
    ]


def test_checks_that_need_the_member_are_left_out(own):
    own.write("own.yaml", "server: {policy: mine:Policy, deadline_s: 3}\nchurn: {kind: bernoulli, probability: 0.5}\n")
    assert own("validate", "own.yaml").returncode == 0


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_no_plugins_refuses_what_names_code(own, verb):
    own.write("sweep.yaml", "base: own.yaml\nseeds: [1, 2]\n")
    file = {"run": "own.yaml", "sweep": "sweep.yaml"}[verb]
    (line,) = own.refused(verb, "--no-plugins", file)
    assert line.startswith("own.yaml:7: server.selection: mine:Mine is code from outside edgefl, which --no-plugins")


def test_a_value_to_be_priced_is_imported_only_where_the_scenario_may_be(own):
    asked = SCENARIO.partition("server:")[0] + "report: {what_if: {radio.fading: ['mine:Mine']}}\n"
    own.write("own.yaml", asked)
    done = own("validate", "own.yaml")
    text = "but mine:Mine was not imported, so its keys were not checked (--import)"
    assert done.stdout.splitlines() == [f"own.yaml: ok, {text}"]
    (line,) = own.refused("run", "--no-plugins", "own.yaml")
    assert line.startswith("own.yaml:5: report.what_if: radio.fading: mine:Mine is code from outside edgefl, which")


OWN_MODULES = [
    (
        '"edgefl.results.provenance:subprocess.run", args: [touch, made]',
        "subprocess.run is an unknown dataset; known: ",
    ),
    ('"edgefl.results.export:shutil.rmtree", path: mine.py', "shutil.rmtree is an unknown dataset; known"),
    ('"edgefl.core.files:write_for_user", path: made, content: x', "write_for_user is an unknown dataset; known"),
    (
        '"edgefl.learning.datasets.loaded:Loaded", import_path: "subprocess:run"',
        "Loaded is an unknown dataset; known: ",
    ),
    (
        '"edgefl.learning.datasets.base:Dataset.load.__globals__.clear"',
        "__globals__.clear is an unknown dataset; known: ",
    ),
    ('"edgefl.__main__:program"', "edgefl.__main__:program is an unknown dataset; known"),
    ('"edgefl:os.system", command: touch made', "edgefl:os.system is an unknown dataset; known"),
    ('"channel._compiled:find_spec", name: os', "channel._compiled:find_spec is an unknown dataset; known"),
]
COMMANDS = [["validate"], ["validate", "--import"], ["run"], ["run", "--no-plugins", "--dry-run"]]


def test_a_path_into_edgefl_leads_to_nothing_but_an_entry_of_the_catalogue(own):
    """Each path is tried with one of the commands, and each command with two paths."""
    for number, (dataset, fault) in enumerate(OWN_MODULES):
        command = COMMANDS[number % len(COMMANDS)]
        file = own.write(f"{number}.yaml", f"rounds: 1\ndata: {{dataset: {dataset}}}\n")
        (line,) = own.refused(*command, file)  # and no file is made, changed or removed
        assert line.startswith(f"{file}:2: data.dataset: ")
        assert fault in line


def test_modules_of_python_cannot_load_data(own):
    own.write("own.yaml", "rounds: 1\ndata: {dataset: 'subprocess:run', args: [touch, made]}\n")
    for command in (["validate"], ["validate", "--import"], ["run"]):
        (line,) = own.refused(*command, "own.yaml")
        assert line.startswith(
            "own.yaml:2: data.dataset: subprocess:run: subprocess comes with Python, and holds nothing"
        )


def test_a_sweep_follows_no_path_into_edgefl_either(own):
    own.write("base.yaml", "rounds: 1\n")
    own.write("sweep.yaml", "base: base.yaml\ngrid: {data.dataset: [digits, 'edgefl.results.export:shutil.rmtree']}\n")
    (line,) = own.refused("sweep", "sweep.yaml")
    assert line.startswith("sweep.yaml:2: data.dataset: edgefl.results.export:shutil.rmtree is an unknown dataset")


def test_a_class_of_edgefl_that_imports_others_has_no_name(own):
    imported = "edgefl.learning.models.imported:Imported"
    own.write("own.yaml", f"rounds: 1\nmodel: {{kind: '{imported}', import_path: 'mine:helper'}}\n")
    (line,) = own.refused("run", "--no-plugins", "own.yaml")
    assert line.startswith("own.yaml:2: model: edgefl.learning.models.imported:Imported is an unknown model; known: ")


@pytest.mark.parametrize("raised", ["SystemExit(0)", "BaseException(0)"])
def test_a_plugin_cannot_end_the_program(own, raised):
    """Neither while the scenario is read, nor in the middle of a run, least of all with the exit code 0."""
    name = raised.partition("(")[0]
    own.write("mine.py", SELECTION.replace("        return present", f"        raise {raised}\n        return present"))
    done = own("run", "own.yaml", "--quiet", "-o", "out")
    assert done.returncode == 1
    line = f"failed: mine.py:14: {name}: 0 (in server.selection mine:Mine); finished rounds are in out"
    assert done.stderr.splitlines() == [f"edgefl: {line}"]
    validated = f"    def model_post_init(self, context):\n        raise {raised}\n"
    own.write("mine.py", SELECTION.replace("    def choose", f"{validated}\n    def choose"))
    (line,) = own.refused("run", "own.yaml")
    assert line == f"mine.py:14: {name}: 0 (in selection mine:Mine)"


def test_a_manifest_with_odd_plugins_is_refused(own):
    assert own("run", "own.yaml", "--quiet", "-o", "out", "--no-train").returncode == 0
    file = own.folder / "out" / "manifest.json"
    manifest = json.loads(file.read_text())
    for odd in (None, "x", [1], {"a": 1}, [{"key": "server.selection"}], float("inf")):
        file.write_text(json.dumps({**manifest, "plugins": odd}))
        (line,) = own.refused("run", "own.yaml", "--no-train", "-o", "out", "--resume")
        assert line.startswith("out/manifest.json: ")
        assert "damaged" in line or "not JSON" in line


SELECTED = "edgefl.coordination.selection.Selection"
UNUSABLE = [
    ("mine:Mine", "import nothing_there", "mine.py:1: ModuleNotFoundError: No module named 'nothing_there'"),
    ("mine:Mine", "x = 1\nclass Mine(:", "mine.py:2: SyntaxError: invalid syntax"),
    ("mine:Mine", "x = 1 / 0", "mine.py:1: ZeroDivisionError: division by zero"),
    ("mine:Mine", "import sys\nsys.exit(3)", "mine.py:2: SystemExit: 3"),
    ("mine:Mine", "import neighbour", "neighbour.py:1: NameError: name 'y' is not defined"),
    ("mine:Min", SELECTION, 'mine.py has no Min (did you mean "Mine"?)'),
    ("mine:helper", SELECTION, f"mine:helper is not a subclass of {SELECTED}"),
    ("mine:Mine", SELECTION.replace("share:", "part:"), "selection.share: unknown key; known: part"),
    ("mine:Mine", SELECTION.replace("le=1", "le=0.1"), "selection.share: must be <= 0.1, got 0.5"),
    ("mien:Mine", SELECTION, 'there is no module mien (did you mean "mine"?)'),
    ("os:system", SELECTION, "os:system: os comes with Python, and holds nothing that a scenario can name"),
    ("mine:rmtree", "from shutil import rmtree", "mine:rmtree: shutil comes with Python, and holds nothing"),
    ("mine:os.system", "import os", "mine:os.system: os is a module: name a class or function as os:MyClass"),
    ("mine:Mine.__init__.__globals__", SELECTION, "__init__ is Python's own: name a class or function of mine"),
    ("mine:1", SELECTION, '"mine:1" is not a path such as my_package.my_module:MyClass'),
    (
        "mine:Mine",
        SELECTION.replace(
            "    def choose", "    def check(self, count, participants):\n        return [][3]\n\n    def choose"
        ),
        "mine.py:14: IndexError",
    ),
]


def test_unusable_plug_ins_are_refused_in_one_line(edgefl):
    files = []
    for number, (path, module, _) in enumerate(UNUSABLE):
        files.append(edgefl.write(f"{number}/own.yaml", SCENARIO.replace("mine:Mine", path)))
        edgefl.write(f"{number}/mine.py", module)
        edgefl.write(f"{number}/neighbour.py", "x = y\n")
    lines = edgefl.refused("validate", "--import", *files)
    for file, line, (_, _, fault) in zip(files, lines, UNUSABLE, strict=True):
        assert fault in line
        if "IndexError" not in line:  # found by the checks between sections
            assert line.startswith(f"{file}:7: server.selection")


def test_a_hook_that_raises_ends_the_run_with_its_line_and_the_rounds_before_it(own):
    text = SELECTION.replace("        return present", "        1 / (1 - index)\n        return present")
    own.write("mine.py", text)
    done = own("run", "own.yaml", "-o", "out", "--no-train")
    assert done.returncode == 1
    where = "mine.py:14: ZeroDivisionError: division by zero (in server.selection mine:Mine)"
    assert done.stderr.splitlines()[-1] == f"edgefl: failed: {where}; finished rounds are in out"
    assert len((own.folder / "out" / "rounds.csv").read_text().splitlines()) == 2


def test_a_hook_that_raises_before_the_run_leaves_nothing(own):
    own.write(
        "own.yaml", SCENARIO.replace("dataset: synthetic, owners: 8, features: 5, classes: 3", "dataset: 'd:Mine'")
    )
    text = "from edgefl.learning.datasets.base import Dataset\n\nclass Mine(Dataset):\n"
    own.write("d.py", f"{text}    def load(self):\n        return self.nothing\n")
    own.write("mine.py", SELECTION)
    (line,) = own.refused("run", "own.yaml", "-o", "out")
    assert line == "d.py:5: AttributeError: 'Mine' object has no attribute 'nothing' (in data.dataset d:Mine)"


def test_a_missing_hook_is_named(own):
    own.write("mine.py", SELECTION.replace("def choose", "def chose"))
    done = own("run", "own.yaml", "-o", "out", "--no-train")
    assert "mine.py:8: mine:Mine must define choose" in done.stderr


def test_a_sweep_over_own_and_shipped_members(own):
    own.write(
        "mine.py", SELECTION.replace("share: Annotated", "portion: Annotated").replace("self.share", "self.portion")
    )
    own.write("own.yaml", SCENARIO.replace('{kind: "mine:Mine", share: 0.5}', "uniform"))
    own.write("sweep.yaml", "base: own.yaml\ngrid: {server.selection: [uniform, 'mine:Mine']}\n")
    starts_python = replace(own, forks_sweeps=False)  # whose processes import the module, too
    done = starts_python("sweep", "sweep.yaml", "-o", "out", "--workers", "1", "--no-train")
    assert done.returncode == 0, done.stderr
    index = (own.folder / "out" / "index.csv").read_text().splitlines()
    assert [line.split(",")[3] for line in index[1:]] == ["finished", "finished"]
    assert "mine:Mine" in index[2]


@pytest.fixture
def installed(own):
    """A distribution with entry points, as pip leaves them."""
    own.write("own.yaml", SCENARIO.replace("mine:Mine", "thrifty"))
    own.write("site/their_selection.py", SELECTION)
    own.write("site/their_plugins-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: their-plugins\nVersion: 1.2\n")
    entries = "[edgefl.selection]\nthrifty = their_selection:Mine\nuniform = their_selection:Mine\n"
    entries += "[edgefl.allocations]\nlean = their_selection:Lean\n"
    own.write("site/their_plugins-1.2.dist-info/entry_points.txt", entries)
    own.write("site/their_plugins-1.2.dist-info/RECORD", "their_selection.py,,\n")
    own.write("site/their_plugins-1.2.dist-info/top_level.txt", "their_selection\n")
    return own


def test_an_installed_plug_in_has_a_name(installed, monkeypatch):
    import os

    path = os.pathsep.join([str(installed.folder / "site"), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    done = installed("run", "own.yaml", "-o", "out", "--no-train")
    assert done.returncode == 0, done.stderr
    (plugin,) = json.loads((installed.folder / "out" / "manifest.json").read_text())["plugins"]
    assert (plugin["distribution"], plugin["version"]) == ("their-plugins", "1.2")
    assert "kind: their_selection:Mine" in (installed.folder / "out" / "scenario.yaml").read_text()
    listed = {line.split()[0]: line for line in installed("list", "selection").stdout.splitlines()}
    assert listed["thrifty"].endswith("their_selection:Mine, of their-plugins 1.2")
    assert "that name is taken" in listed["their_selection:Mine"]
    assert "uniform" in listed
    assert "their" not in listed["uniform"]
    page = "thrifty (selection): their_selection:Mine, of their-plugins 1.2"
    assert installed("list", "thrifty").stdout.splitlines() == [page]
    (line,) = installed.refused("run", "--no-plugins", "own.yaml")
    assert "thrifty is code from outside" in line
    assert "thrifty" in json.dumps(json.loads(installed("schema").stdout))
    warning = 'their-plugins: unknown group of entry points edgefl.allocations (did you mean "edgefl.allocation"?)'
    assert warning in installed("list").stderr
    (line,) = installed.refused("run", "own.yaml", "--set", "radio.allocation=lean")
    assert line.endswith("; their-plugins has it in the group edgefl.allocations, not edgefl.allocation")


@pytest.mark.oracle
def test_the_schema_takes_a_path_in_every_catalogue():
    schema = json.dumps(scenario_schema())
    assert schema.count(json.dumps(r"^[^:\s]+:[^:\s]+$")) >= 2 * len(CATALOGUES)
