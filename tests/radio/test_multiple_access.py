"""The key `radio.uplink` and its catalogue: the default, and refusals."""

import edgefl
from edgefl.radio.multiple_access import MULTIPLE_ACCESS, MultipleAccess
from edgefl.radio.multiple_access.orthogonal import Orthogonal
from edgefl.scenario import load

PRICED = {"rounds": 2, "devices": {"count": 4}, "model": {"cost": {"parameters": 100_000, "flops_per_parameter": 6}}}


class Overlapping(MultipleAccess):
    """Uploads that overlap."""

    orthogonal = False


def test_orthogonal_is_the_default_and_can_be_named():
    left_out = edgefl.run(PRICED, train=False)
    named = edgefl.run({**PRICED, "radio": {"uplink": {"kind": "orthogonal"}}}, train=False)
    assert named.devices.equals(left_out.devices)
    assert isinstance(load({}).radio.uplink, Orthogonal)
    assert MULTIPLE_ACCESS.name_of(load({}).radio.uplink) == "orthogonal"
