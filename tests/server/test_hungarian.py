"""Blocks by samples and packet errors in the emulated world: participants, blocks and powers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.special import lambertw

import edgefl
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.radio.allocation.hungarian import Hungarian

SLOT_S = 0.0005
# No device moves, so the fading at the beginning of a round stays as it is.
STILL: dict[str, Any] = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 6, "tx_power_dbm": 10, "capacitance": 1e-30},
    "server": {"csi": {"kind": "perfect", "report_bits": 0}},  # rows of participations alone
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 6e6, "slot_s": SLOT_S, "downlink": "broadcast"},
}
INTERFERENCE_W = [1e-14, 3e-14, 1e-13, 3e-13, 1e-12, 3e-12]

asked: list[tuple[Forecast, Decisions]] = []


class Noting(Hungarian):
    """The same, and keeps what it was asked and what it answered (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the decisions, and note them."""
        decisions = super().decide(forecast)
        asked.append((forecast, decisions))
        return decisions


def run(allocation: Any, **sections: dict[str, Any]) -> Any:
    """Return the result of a run with some more keys."""
    asked.clear()
    scenario = {name: {**STILL[name], **sections.get(name, {})} for name in ("devices", "server", "radio")}
    scenario["radio"]["allocation"] = allocation
    return edgefl.run({**STILL, **scenario}, train=False)


def test_world_follows_the_decisions() -> None:
    result = run(Noting(interference_w=INTERFERENCE_W, max_energy_j=3e-4))
    assert len(asked) == 3
    lowered = 0
    for number, (seen, decided) in enumerate(asked, start=1):
        assert decided.takes_part is not None
        assert decided.power_share is not None
        assert decided.up_interference_w_hz is not None
        rows = result.devices[result.devices["round"] == number].set_index("device").sort_index()
        took = np.flatnonzero(decided.takes_part)
        np.testing.assert_array_equal(rows.index, seen.ids[took])
        # The block is a sixth of the band, whichever others take part, and its interference lowers the rate.
        received_w = (seen.tx_power_w * decided.power_share * seen.path_gain * seen.fading)[took]
        noise_w_hz = (seen.tx_power_w * seen.path_gain * seen.fading / seen.up_snr_hz)[took]
        snr = received_w / ((noise_w_hz + decided.up_interference_w_hz[took]) * 1e6)
        late_s = rows["upload_s"].to_numpy() - seen.up_bits[took] / (1e6 * np.log2(1 + snr))
        assert (late_s > -1e-9).all()
        assert (late_s < SLOT_S + 1e-9).all()
        power_w = rows["tx_energy_j"] / rows["upload_s"]
        np.testing.assert_allclose(power_w, (0.01 * decided.power_share)[took], rtol=1e-9)
        spent_j = rows["tx_energy_j"] + rows["cpu_energy_j"]
        assert (spent_j <= 3e-4 + 0.01 * SLOT_S).all()
        lowered += int((decided.power_share[took] < 1).sum())
    assert lowered > 0
    assert (result.rounds["selected"] == [int(decided.takes_part.sum()) for _, decided in asked]).all()


def test_losses_are_those_of_the_blocks() -> None:
    # Interference so strong on one block that hardly anything arrives there, over a fading-free channel.
    loud = [1e-13, 1e-13, 1e-13, 1e-13, 1e-13, 1e-7]
    errors = {"kind": "outage", "threshold_db": 0.023}
    result = run({"kind": "hungarian", "interference_w": loud}, radio={"errors": errors, "fading": "none"})
    received = result.rounds["received"]
    assert (received >= 4).all()
    quiet = run({"kind": "hungarian", "interference_w": [1e-13] * 6}, radio={"errors": errors, "fading": "none"})
    assert quiet.rounds["received"].sum() > received.sum()


def test_assignment_is_optimal() -> None:
    allocation = Hungarian(interference_w=INTERFERENCE_W, threshold_db=0.334, max_delay_s=0.05, power="full")
    run(Noting(**allocation.model_dump()))
    for seen, decided in asked:
        noise_w_hz = seen.tx_power_w * seen.path_gain * seen.fading / seen.up_snr_hz
        density = np.array(INTERFERENCE_W) / 1e6
        mean_snr = (seen.tx_power_w * seen.path_gain)[:, None] / ((noise_w_hz[:, None] + density) * 1e6)
        samples = np.broadcast_to(seen.samples, 6)
        snr = mean_snr * seen.fading[:, None]
        delay_s = seen.download_s()[:, None] + seen.up_bits[:, None] / (1e6 * np.log2(1 + snr))
        threshold = 10**0.0334
        worth = np.where(delay_s <= 0.05, samples[:, None] * np.exp(-threshold / mean_snr), 0.0)
        best = max(worth[np.arange(6), list(order)].sum() for order in permutations(range(6)))
        assert decided.up_interference_w_hz is not None
        block = np.searchsorted(density, decided.up_interference_w_hz * (1 - 1e-12))
        assert (worth[np.arange(6), block] * decided.takes_part).sum() == pytest.approx(best, rel=1e-9)


def test_power_within_the_energy_is_the_closed_form() -> None:
    # One device of 10 dBm: the limit is met where P Z / (B log2(1 + P g / N)) + E = limit, which Lambert's W solves.
    run(Noting(interference_w=[1e-12], max_energy_j=2e-4), devices={"count": 1}, radio={"bandwidth_hz": 1e6})
    for seen, decided in asked:
        assert decided.takes_part is not None
        if not decided.takes_part[0]:
            continue
        gain = float((seen.path_gain * seen.fading)[0])
        noise_w = float((seen.tx_power_w * seen.path_gain * seen.fading / seen.up_snr_hz)[0]) * 1e6 + 1e-12
        left_j = 2e-4 - float(seen.compute_j()[0])
        # With x = P g / N: x / ln(1 + x) = c.
        c = left_j * gain * 1e6 / (noise_w * float(seen.up_bits[0]) * np.log(2))
        x = -c * float(lambertw(-np.exp(-1 / c) / c, -1).real) - 1
        expected = min(1.0, x * noise_w / gain / 0.01)
        assert decided.power_share is not None
        assert decided.power_share[0] == pytest.approx(expected, rel=1e-6)
    assert asked[0][1].power_share[0] < 1


def test_limits_that_no_device_meets_end_the_run() -> None:
    error = run({"kind": "hungarian", "interference_w": INTERFERENCE_W, "max_delay_s": 1e-4}).error
    assert error.startswith("round 1: none of 6 participants can be served within the limits of radio.allocation")


@pytest.mark.parametrize(
    ("allocation", "sections", "message"),
    [
        (
            {"interference_w": [0.0] * 5},
            {},
            "server.participants: hungarian has 5 blocks in all, for at most one participant each, but a round asks 6",
        ),
    ],
)
def test_contradictions_with_hungarian_are_refused(
    allocation: dict[str, Any], sections: dict[str, Any], message: str
) -> None:
    with pytest.raises(edgefl.InputError, match=message.replace(".", r"\.")):
        run({"kind": "hungarian", **allocation}, **sections)


def test_cells_with_more_devices_than_blocks_end_the_run() -> None:
    cells = {"layout": "hexagonal", "sites": 7, "radius_m": 200}
    asked.clear()
    radio = {**STILL["radio"], "allocation": {"kind": "hungarian", "interference_w": [1e-14]}}
    radio["propagation"] = {"kind": "umi_los", "out_of_range": "clamp"}
    error = edgefl.run({**STILL, "cells": cells, "radio": radio}, train=False).error
    assert "participants in a cell, but radio.allocation has 1 blocks: choose fewer" in error
