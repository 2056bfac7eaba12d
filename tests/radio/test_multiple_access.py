"""The key `radio.uplink` and its catalogue: the default, and refusals."""

import pytest

import edgefl
from edgefl.core.errors import InputError
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


def test_overlapping_uploads_do_not_go_over_direct_links():
    server = {"policy": {"kind": "sequential", "links": "device_to_device"}}
    load({"server": server})
    with pytest.raises(
        InputError, match=r"radio\.uplink: .*Overlapping is not modelled with links from device to device"
    ):
        load({"server": server, "radio": {"uplink": Overlapping()}})
