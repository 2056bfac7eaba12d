"""Each check passes the healthy members of its kind, and names what is wrong with the broken ones."""

import subprocess
import sys
from importlib import import_module

import broken_csi
import broken_drift
import broken_measure
import broken_optimiser
import broken_others
import broken_world
import pytest

from edgefl.coordination.policies import POLICIES
from edgefl.learning.drifts import DRIFTS
from edgefl.testing import ConformanceError, check

KINDS = [
    broken_csi,
    broken_drift,
    broken_measure,
    broken_optimiser,
    broken_others,
    broken_world,
]
HEALTHY = [row for kind in KINDS for row in kind.HEALTHY]
BROKEN = [row for kind in KINDS for row in kind.BROKEN]


allocation = import_module("edgefl.testing.allocation")


def name_of(member):
    return getattr(member, "__name__", type(member).__name__)


@pytest.mark.oracle
@pytest.mark.parametrize(("member", "keys"), HEALTHY, ids=[name_of(member) for member, _ in HEALTHY])
def test_healthy_members_pass(member, keys, monkeypatch):
    monkeypatch.setattr(allocation, "COUNTS", (1, 2, 7))  # many transfers wait long for their turns
    assert check(member, **keys).ok


@pytest.mark.slow
@pytest.mark.parametrize("name", ["over_selection", "buffered", "asynchronous", "split", "hierarchical"])
def test_all_other_policies_pass(name):
    assert check(POLICIES.load(name)).ok


@pytest.mark.oracle
@pytest.mark.parametrize(("broken", "keys", "name", "text"), BROKEN, ids=[name_of(row[0]) for row in BROKEN])
def test_broken_members_are_found_and_named(broken, keys, name, text):
    with pytest.raises(ConformanceError) as caught:
        check(broken, **keys)
    faults = {each.name: each.faults for each in caught.value.report.checks}
    assert any(text in fault for fault in faults[name]), str(caught.value)


def test_objects_without_a_check_are_refused():
    with pytest.raises(TypeError, match="there is no check for dict; checks are for: algorithm, allocation"):
        check(dict)


def test_labels_change_where_they_are_overridden():
    """Nothing has to be declared: what is not declared cannot be forgotten."""
    assert broken_drift.Beyond(at_round=[2]).changes_labels
    assert not broken_drift.Centred(at_round=[2]).changes_labels
    assert DRIFTS.load("labels")(at_s=[1.0]).changes_labels
    assert not DRIFTS.load("rotation")(at_s=[1.0]).changes_labels


@pytest.mark.process
def test_checks_of_selections_allocations_and_mobility_need_no_torch():
    program = """
import sys
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.testing import check_allocation, check_mobility, check_selection
from edgefl.world.mobility.static import Static
print(check_selection(UniformSelection), check_allocation(EqualAllocation), check_mobility(Static))
assert not {"torch", "pytest"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
