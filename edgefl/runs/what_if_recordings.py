"""Recorded links in another world: SNRs that follow a power or a band, and changes that no recording answers.

A recording holds for the world that it was made in. Priced as it stands in another one, it would promise less energy
at a lower transmit power for no more time.
"""

from edgefl.core.errors import InputError
from edgefl.radio.recorded_links import are_snrs
from edgefl.scenario import Scenario
from edgefl.scenario.overrides import Override

POWER = "devices.tx_power_dbm"
RECORDED_POWER = "radio.trace.tx_power_dbm"
PLACES = "changes where devices and base stations are, and links were recorded at their own places"
MODEL = "run it with a model of the channel instead of radio.trace"


def conditions(scenario: Scenario, point: Scenario, where: str) -> list[Override]:
    """Return the keys of `radio.trace` that keep to the power and the band of a run at a point; none if it needs none.

    With them the point's SNRs are those of the run, shifted by what has changed. Without a recording there are none.

    Raises:
        InputError: recorded links do not tell what the point costs; the line does not name the place.
    """
    trace = scenario.radio.trace
    if trace is None or point.radio.trace is None:
        return []
    if _places(point) != _places(scenario):
        raise InputError(f"{PLACES}: {MODEL}")
    found = []
    if _powers(point) != _powers(scenario):
        if not are_snrs(trace.recordings()):
            text = "sets a power, and rates were recorded, which do not tell how they follow it"
            raise InputError(f"{text}: record SNRs, or {MODEL}")
        if trace.tx_power_dbm is None:
            found.append(Override(tuple(RECORDED_POWER.split(".")), _one_power_dbm(scenario), where))
    if point.radio.bandwidth_hz != scenario.radio.bandwidth_hz and trace.bandwidth_hz is None:
        found.append(Override(("radio", "trace", "bandwidth_hz"), scenario.radio.bandwidth_hz, where))
    return found


def _places(scenario: Scenario) -> tuple[object, ...]:
    """Return what decides on places, which a model turns into links."""
    heights = [hardware.height_m for hardware in scenario.devices.made_of]
    return (scenario.cells, scenario.mobility, heights)


def _powers(scenario: Scenario) -> list[object]:
    return [hardware.tx_power_dbm for hardware in scenario.devices.made_of]


def _one_power_dbm(scenario: Scenario) -> float:
    lowest_dbm, highest_dbm = scenario.devices.span("tx_power_dbm")
    if lowest_dbm != highest_dbm:
        text = f"the run's devices have different {POWER}, so the power of the recordings is not known"
        raise InputError(f"{text}: set {RECORDED_POWER} in a scenario, and run that")
    return lowest_dbm
