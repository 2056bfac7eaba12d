"""The radio as users of other simulators write it: what is refused says what to write instead."""

import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import load

SPACINGS = "is not a subcarrier spacing of FR1 (carrier 3.5 GHz): 15000, 30000 or 60000"
HABITS = [
    ({"subcarrier_spacing_hz": 30}, f"spacing_hz = 30 {SPACINGS}: 30 kHz are written 30e3"),
    ({"propagation": "uma"}, "from 22.5 m on, this one is at 10 m: set cells.bs_height_m to 22.5"),
    ({"tdd": {"downlink": 0.9}}, "radio.tdd: downlink + uplink must be <= 1, got 1.2 (0.9 + 0.3)"),
    ({"errors": "bler"}, "radio.rate: block errors belong to schemes: set it to mcs, or leave radio.errors out"),
]


@pytest.mark.parametrize(("radio", "text"), HABITS)
def test_another_form_of_a_radio_key_gets_a_remedy(radio, text):
    with pytest.raises(InputError) as refused:
        load({"radio": radio})
    assert text in refused.value.faults[0]
