"""The spectral efficiency that half of a scenario's transfers exceed, estimated before a run.

The estimate spreads devices evenly over one cell, each on an equal share of the band, without shadowing, fading and
interference. This is enough to recognise links that no radio has.
"""

from collections.abc import Mapping

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.distributions import Distribution
from edgefl.core.returns import is_trusted
from edgefl.radio.propagation.base import PathDraws
from edgefl.radio.transfers import WAYS, Way
from edgefl.scenario.sections import Sections

POINTS = 101  # at which the channel is evaluated


def median_bps_hz(scenario: Sections) -> Mapping[Way, float]:
    """Return the median spectral efficiency [bit/s/Hz] of each direction where it can be estimated.

    It cannot if links were recorded or path gains are those of a map, if a member from outside decides, or with
    interference.
    """
    from channel import rate, units

    radio = scenario.radio
    models = (radio.propagation, radio.rate, scenario.server.policy)
    if radio.kind == "trace" or radio.interference is not None or not all(is_trusted(model) for model in models):
        return {}
    if radio.propagation.by_place:
        return {}
    gain = units.db_to_linear(-_path_loss_db(scenario))
    at_once = 1.0
    if scenario.server.policy.averages and not radio.allocation.in_turn:
        at_once = max(scenario.participants / scenario.cells.count, 1.0)
    efficiency = radio.rate.efficiency()
    found: dict[Way, float] = {}
    for way in WAYS:
        band_hz = radio.bandwidth_hz / radio.reuse
        if way == "up":
            power_dbm = _median(scenario, "tx_power_dbm")
            noise_w_hz = rate.noise_w_hz(radio.noise_dbm_hz, radio.noise_figure_of("base_station"))
            is_known = all(control.always_full for control in scenario.power_controls)
            is_known = is_known and radio.uplink.orthogonal
            band_hz /= at_once
        else:
            power_dbm = radio.server_tx_power_dbm
            noise_w_hz = rate.noise_w_hz(radio.noise_dbm_hz, radio.noise_figure_of("device"))
            is_known = True
            if radio.downlink == "unicast" and radio.server_power == "per_device":
                band_hz /= at_once
        if is_known:
            snr = units.dbm_to_w(power_dbm) * gain / (noise_w_hz * band_hz)
            found[way] = float(np.median(efficiency.bps_hz(snr)))
    return found


def _path_loss_db(scenario: Sections) -> Floats:
    """Return the path losses [points] of devices spread evenly over a cell."""
    cells = scenario.cells
    even = (np.arange(POINTS) + 0.5) / POINTS
    # The golden ratio spreads the second draw evenly for each value of the first one.
    states = np.modf(np.arange(1, POINTS + 1) * (np.sqrt(5) - 1) / 2)[0]
    inner_m2 = cells.min_distance_m**2
    distance_m = np.sqrt(inner_m2 + even * max(cells.radius_m**2 - inner_m2, 0.0))
    middle = np.full(POINTS, 0.5)
    draws = PathDraws(
        los=states,
        indoor=np.modf(states * POINTS)[0],
        indoor_distance=np.full((POINTS, 2), 0.5),
        building=middle,
        penetration=np.zeros(POINTS),
        environment=middle,
        path_depth=middle,
        floor=np.full((POINTS, 2), 0.5),
        device=np.arange(POINTS, dtype=np.int64) % scenario.devices.count,
    )
    # Rules between sections have refused distances outside the range, unless they are priced at the border.
    propagation = scenario.radio.propagation.model_copy(update={"out_of_range": "clamp"})
    height_m = propagation.heights_m(np.full(POINTS, _median(scenario, "height_m")), draws)
    channel = propagation.large_scale(distance_m, scenario.radio.carrier_hz, cells.bs_height_m, height_m, draws)
    return channel.path_loss_db


def _median(scenario: Sections, key: str) -> float:
    distributions: list[Distribution] = [getattr(hardware, key) for hardware in scenario.devices.made_of]
    medians = [each.quantile(np.array([0.5]), np.array([0]))[0] for each in distributions]
    return float(np.median(medians))
