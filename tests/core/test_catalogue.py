"""Catalogues: names to members and back."""

import pytest

from edgefl.coordination.policies import POLICIES
from edgefl.world.churn import CHURN
from edgefl.world.dvfs import DVFS


@pytest.mark.parametrize("catalogue", [POLICIES, CHURN, DVFS], ids=lambda catalogue: catalogue.noun)
def test_every_member_says_what_it_is_in_a_line(catalogue):
    for name in catalogue.members:
        assert catalogue.summary(name).endswith((".", ")"))
        assert catalogue.load(name).__module__.startswith("edgefl.")


def test_a_member_is_written_as_it_is_read():
    policy = POLICIES.load("buffered")(buffer=3)
    assert POLICIES.name_of(policy) == "buffered"
    assert POLICIES.dump(policy) == {"kind": "buffered", "buffer": 3}


def test_members_that_suit_are_named():
    assert POLICIES.names_where(lambda policy: policy.overlapping) == "buffered or asynchronous"
    assert POLICIES.names_where(lambda policy: policy.edge_models) == "hierarchical"
    assert POLICIES.names_where(lambda policy: not policy.averages) == "sequential"
