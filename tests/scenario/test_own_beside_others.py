"""Code from outside in each catalogue, beside every other feature of a scenario: accepted, or refused in one line."""

import pytest
from scenario_features import BASE, FEATURES, merged, write_files

from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access, NotImported
from edgefl.runs.assembly import rehearse
from edgefl.scenario import load
from edgefl.scenario.key_index import places
from edgefl.scenario.plausibility import check_world, implausible

PLACES = list(places())
KEYS = {
    "data.drift": {"at_s": [360]},
    "radio.trace": {"path": "rates.csv"},
    "radio.background": {"arrivals_per_s": 2, "mean_bits": 1e6, "bps_hz": 2},
}
BASES = {"data.dataset": "digits", "radio.background": "poisson"}  # of classes; otherwise the first of the catalogue
EACH = 16  # of the features beside a catalogue, one is tried by CI


def scenario_with(dotted, name, feature):
    """Return a scenario with a feature whose key `dotted` names code from outside."""
    part = {"kind": name, **KEYS.get(dotted, {})}
    if dotted == "data.dataset":
        part = name
    if dotted == "report.measures":
        part = [part]
    for key in reversed(dotted.split(".")):
        part = {key: part}
    scenario = merged(merged(BASE, feature), part)
    if dotted == "sessions.initialisation":
        scenario["sessions"] |= {"count": 2, "rounds": 2}
        del scenario["rounds"]
    return scenario


def try_all(dotted, name, mode, features):
    """Validate a scenario beside each feature as the command does; return how many were accepted."""
    accepted = 0
    for feature in features:
        try:
            access = Access(mode=mode)
            scenario = load(scenario_with(dotted, name, feature), access=access)
            implausible(scenario)
            rehearse(scenario, access)
            check_world(scenario)
        except InputError:
            continue
        except NotImported:  # by the trial of a run, which the command takes for the end of its checks
            assert mode == "skip"
        accepted += 1
    return accepted


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["skip", "import"])
@pytest.mark.parametrize("dotted", PLACES)
def test_an_own_class_beside_other_features(dotted, mode, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    number = PLACES.index(dotted)
    base = places()[dotted].load(BASES.get(dotted) or next(iter(places()[dotted].members)))
    text = f"from {base.__module__} import {base.__name__}\n\n\nclass Own({base.__name__}):\n    pass\n"
    (tmp_path / f"own_{number}.py").write_text(text)
    features = [{}, *list(FEATURES.values())[number % EACH :: EACH]]
    assert try_all(dotted, f"own_{number}:Own", mode, features)
