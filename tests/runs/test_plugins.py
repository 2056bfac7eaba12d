"""Members from outside: the bytes of ours in every catalogue, folders that run again, and no two versions mixed."""

import importlib
import json
import sys
from contextlib import suppress

import pytest
from plugin_cases import PRICED, placed, written
from run_cases import SWEEP_BASE

import edgefl
from edgefl.cli.listing import CATALOGUES
from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access, NotImported
from edgefl.core.words import words_of
from edgefl.learning.algorithms.fednova import FedNova
from edgefl.learning.record import Pace
from edgefl.runs.assembly import rehearse
from edgefl.runs.learning_key import learning_setting
from edgefl.scenario import load

LEARNED, UNLEARNED = words_of(__file__, "plugin_kinds.yaml").values()


def same(ours, theirs):
    assert ours.rounds.equals(theirs.rounds)
    assert ours.devices.equals(theirs.devices)
    if ours.parameters is not None:
        assert (ours.parameters == theirs.parameters).all()


def test_every_catalogue_is_tried():
    assert set(LEARNED) | set(UNLEARNED) == set(CATALOGUES)


def scenario_with(kind, member):
    """A small scenario with a member of a kind, given by its name."""
    key, _, keys, needs = {**LEARNED, **UNLEARNED}[kind]
    scenario = SWEEP_BASE if kind in LEARNED else PRICED
    if "data.dataset" in needs:
        scenario = {name: value for name, value in scenario.items() if name != "data"}
    for needed, value in needs.items():
        scenario = placed(scenario, needed, value)
    if key == "data.dataset":  # its keys stand beside its name
        return placed(scenario, key, member)
    value = {"kind": member, **keys}
    if kind == "measures":  # the key holds a list of them
        value = [value]
    return placed(scenario, key, value)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", [*LEARNED, *UNLEARNED])
def test_a_class_from_outside_gives_the_bytes_of_ours(kind, tmp_path):
    _, name, _, _ = {**LEARNED, **UNLEARNED}[kind]
    module, _, shipped = CATALOGUES[kind].members[name].partition(":")
    source = f'from {module} import {shipped}\n\nclass Mine({shipped}):\n    """Mine."""\n\n    further: int = 0\n'
    ours = edgefl.run(scenario_with(kind, name), train=kind in LEARNED)
    file = written(tmp_path, scenario_with(kind, "mine:Mine"), mine=source)
    theirs = edgefl.run(file, train=kind in LEARNED)
    same(ours, theirs)
    assert theirs.scenario["import_from"] == [str(tmp_path)]
    assert "import_from" not in ours.scenario


@pytest.mark.parametrize("kind", [*LEARNED, *UNLEARNED])
def test_members_that_are_not_imported_are_not_checked(kind):
    access = Access(mode="skip")
    scenario = load(scenario_with(kind, "nowhere:Mine"), access=access)
    assert set(access.skipped) == {"nowhere:Mine"}
    with suppress(NotImported):
        rehearse(scenario)
    assert "nowhere" not in sys.modules


class MyNova(FedNova):
    """A plug-in of this very module."""


@pytest.mark.oracle
def test_objects_and_classes_from_python_are_taken_as_they_are():
    ours = edgefl.run({**SWEEP_BASE, "algorithm": {"kind": "fednova", "mu": 0.1}})
    same(ours, edgefl.run({**SWEEP_BASE, "algorithm": MyNova(mu=0.1)}))
    same(ours, edgefl.run({**SWEEP_BASE, "algorithm": {"kind": MyNova, "mu": 0.1}}))


def test_objects_inside_nested_mappings():
    from edgefl.coordination.selection.round_robin import RoundRobin

    class Mine(RoundRobin):
        """Mine."""

    server = {"participants": 4, "selection": Mine(), "policy": {"kind": "synchronous"}}
    ours = edgefl.run({**PRICED, "server": {**server, "selection": "round_robin"}}, train=False)
    same(ours, edgefl.run({**PRICED, "server": server}, train=False))


def test_keys_that_no_file_can_hold_are_refused():
    class Chosen(FedNova):
        """A set is a list in YAML, which a strict field does not take."""

        chosen: frozenset[int] = frozenset({1, 2})

    with pytest.raises(InputError, match=r"Chosen: its keys cannot be written to scenario.yaml and read again: chosen"):
        load({**SWEEP_BASE, "algorithm": Chosen(chosen=frozenset({3}))})


NOVA = """
    from edgefl.learning.algorithms.fednova import FedNova

    class MyNova(FedNova):
        '''Mine.'''
        boost: float = 1.0
"""
OWN = {**SWEEP_BASE, "algorithm": {"kind": "my_nova:MyNova", "mu": 0.1}}


@pytest.mark.oracle
def test_a_resolved_scenario_runs_again_from_its_folder(tmp_path, monkeypatch):
    first = edgefl.run(written(tmp_path / "here", OWN, my_nova=NOVA), out=tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    again = edgefl.run(tmp_path / "out" / "scenario.yaml", out=tmp_path / "again")
    same(first, again)
    texts = [(tmp_path / name / "scenario.yaml").read_text() for name in ("out", "again")]
    assert texts[0] == texts[1]


@pytest.mark.oracle
def test_a_local_class_runs_and_its_file_says_that_it_cannot(tmp_path):
    class Local(FedNova):
        """Local."""

    edgefl.run({**SWEEP_BASE, "algorithm": Local()}, out=tmp_path / "out")
    with pytest.raises(InputError, match=r"scenario.yaml:\d+: algorithm.*: move it"):
        load(tmp_path / "out" / "scenario.yaml")


@pytest.mark.oracle
def test_the_manifest_names_each_plug_in(tmp_path):
    edgefl.run(written(tmp_path / "here", OWN, my_nova=NOVA), out=tmp_path / "out")
    (plugin,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["plugins"]
    assert plugin["key"] == "algorithm"
    assert plugin["path"] == "my_nova:MyNova"
    assert plugin["file"] == str(tmp_path / "here" / "my_nova.py")
    assert len(plugin["sha256"]) == 64
    assert plugin["distribution"] is None


@pytest.mark.oracle
def test_a_page_of_results_runs_no_code(tmp_path):
    source = """
        from edgefl.radio.propagation.umi import Umi

        class Mine(Umi):
            'Mine.'
    """
    file = written(tmp_path, scenario_with("propagation", "mine:Mine"), mine=source)
    edgefl.run(file, train=False, out=tmp_path / "out")
    written(tmp_path, {}, mine="raise SystemExit")
    page = edgefl.report([tmp_path / "out"], tmp_path / "page.html")
    assert "mine:Mine" in page.read_text()


def test_shared_learning_depends_on_the_source(tmp_path):
    file = written(tmp_path, OWN, my_nova=NOVA)
    before = learning_setting(load(file))
    assert before == learning_setting(load(file))
    written(tmp_path, OWN, my_nova=NOVA + "        further: int = 0\n")
    assert learning_setting(load(file)) != before


def test_neighbours_that_the_plug_in_imports_are_part_of_its_source(tmp_path):
    importing = "    import my_helpers\n" + NOVA
    file = written(tmp_path, OWN, my_nova=importing, my_helpers="import my_nova, my_numbers", my_numbers="FACTOR = 1")
    before = learning_setting(load(file))
    written(tmp_path, OWN, my_numbers="FACTOR = 2")
    assert learning_setting(load(file)) != before


@pytest.mark.oracle
def test_a_finished_run_of_another_version_is_not_taken_for_this_one(tmp_path):
    file = written(tmp_path, OWN, my_nova=NOVA)
    edgefl.run(file, out=tmp_path / "out")
    assert edgefl.run(file, out=tmp_path / "out", resume=True).ledger is None  # nothing was left to do
    written(tmp_path, OWN, my_nova=NOVA + "        # another version\n")
    with pytest.raises(InputError, match=r"another version of my_nova:MyNova"):
        edgefl.run(file, out=tmp_path / "out", resume=True)


@pytest.mark.oracle
def test_resumed_run_with_other_code_learns_again(tmp_path):
    changed = (
        NOVA
        + """
        def aggregate(self, server, updates):
            state = super().aggregate(server, updates)
            return {**state, "w": state["w"] * 0.5}
"""
    )
    file = written(tmp_path, OWN, my_nova=NOVA)

    def stop(row):
        if row["round"] == 2:
            raise KeyboardInterrupt

    begun = edgefl.run(file, out=tmp_path / "out", pace=Pace(rounds=1), progress=stop)
    assert begun.status == "interrupted"
    written(tmp_path, OWN, my_nova=changed)
    resumed = edgefl.run(file, out=tmp_path / "out", resume=True)
    same(edgefl.run(file), resumed)


@pytest.mark.oracle
def test_another_algorithm_can_be_the_base_of_one_that_wraps_it(tmp_path):
    ours = edgefl.run({**SWEEP_BASE, "algorithm": {"kind": "feddisco", "base": "fednova"}})
    scenario = {**SWEEP_BASE, "algorithm": {"kind": "feddisco", "base": {"kind": "my_nova:MyNova"}}}
    theirs = edgefl.run(written(tmp_path, scenario, my_nova=NOVA))
    same(ours, theirs)
    assert theirs.scenario["algorithm"]["base"]["kind"] == "my_nova:MyNova"


def test_two_scenarios_with_a_module_of_one_name_get_their_own(tmp_path):
    files = []
    for name, boost in (("a", 1.0), ("b", 2.0)):
        text = NOVA.replace("boost: float = 1.0", f"boost: float = {boost}")
        files.append(written(tmp_path / name, OWN, my_nova=text))
    before = list(sys.path)
    first, second, third = (load(file).algorithm for file in (*files, files[0]))
    assert (first.boost, second.boost) == (1.0, 2.0)
    assert type(third) is type(first)
    assert sys.path == before


def test_a_module_of_another_scenario_is_not_found(tmp_path):
    load(written(tmp_path / "a", OWN, my_only="", my_nova=NOVA))
    with pytest.raises(InputError, match=r"there is no module my_nova"):
        load(written(tmp_path / "b", OWN))


def test_changed_module_of_the_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = written(tmp_path, {**OWN, "algorithm": "my_imported:MyNova"}, my_imported=NOVA)
    import my_imported

    assert type(load(file).algorithm) is my_imported.MyNova
    # One character more: a change of no length within a second is one that Python's compiled modules miss.
    written(tmp_path, {**OWN, "algorithm": "my_imported:MyNova"}, my_imported=NOVA.replace("1.0", "12.5"))
    with pytest.raises(InputError, match=r"my_imported.py has changed since this program imported it"):
        load(file)
    importlib.reload(my_imported)
    assert load(file).algorithm.boost == 12.5


def test_changed_module_is_imported_again(tmp_path):
    file = written(tmp_path, OWN, my_nova=NOVA)
    assert load(file).algorithm.boost == 1.0
    written(tmp_path, OWN, my_nova=NOVA.replace("1.0", "2.5"))
    assert load(file).algorithm.boost == 2.5


def test_a_folder_hides_no_module_of_the_standard_library(tmp_path):
    import json as standard

    written(tmp_path, OWN, my_nova="    import json\n" + NOVA + "        standard: str = json.__name__\n", json="1 / 0")
    load(tmp_path / "own.yaml")
    assert sys.modules["json"] is standard


def test_import_from_names_other_folders(tmp_path):
    written(tmp_path / "code", OWN, my_nova=NOVA)
    file = written(tmp_path / "scenarios", {**OWN, "import_from": ["../code"]})
    assert type(load(file).algorithm).__name__ == "MyNova"


@pytest.mark.oracle
def test_an_exception_in_a_worker_process_has_its_line(tmp_path, monkeypatch):
    source = """
        import torch
        from torch import nn

        CALLS = []

        class Tired(Exception):
            def __init__(self, what, calls):
                super().__init__(f"{what} after {calls} calls")

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(5, 3)

            def forward(self, x):
                CALLS.append(1)
                if len(CALLS) > 30:
                    raise Tired("tired", len(CALLS))
                return self.layer(x)
    """
    import torch

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    scenario = {**SWEEP_BASE, "model": {"kind": "nets:Net"}}
    file = written(tmp_path, placed(scenario, "training.local_steps", 40), nets=source)
    result = edgefl.run(file, out=tmp_path / "out")
    assert result.status == "failed"
    assert result.error.endswith("nets.py:19: Tired: tired after 31 calls (in model nets:Net)"), result.error


def test_shipped_member_made_in_python_is_not_a_plug_in():
    """The file of the fault would otherwise be one of ours, with an internal name instead of the key."""
    from edgefl.coordination.policies.synchronous import Synchronous

    with pytest.raises(edgefl.InputError, match=r"^scenario: churn\.arrivals_per_s: is required"):
        edgefl.run({"rounds": 1, "churn": "poisson", "server": {"policy": Synchronous()}}, train=False)
