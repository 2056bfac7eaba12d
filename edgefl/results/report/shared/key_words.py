"""Keys of a scenario as words, for axes, sliders and sentences."""

from edgefl.results.report.shared.describe import bare

# Only keys whose last part does not say it.
WORDS = {
    "backhaul.rate_bps": "rate of the backhaul",
    "cells.bs_height_m": "height of base stations",
    "cells.radius_m": "radius of a cell",
    "cost": "costs of learning",
    "devices.cpu_hz": "clock of devices",
    "devices.flops_per_cycle": "operations in a clock cycle",
    "devices.height_m": "height of devices",
    "devices.idle_power_w": "power while idle",
    "devices.rx_power_w": "power while receiving",
    "devices.tx_power_dbm": "transmit power",
    "devices.dvfs": "rule of the clock",
    "mobility.speed_mps": "speed of devices",
    "model.cost.flops_per_parameter": "operations for a parameter",
    "model.cost.parameters": "parameters of the model",
    "radio.access_s": "access time",
    "radio.allocation": "allocation of the band",
    "radio.carrier_hz": "carrier frequency",
    "radio.noise_dbm_hz": "noise density",
    "radio.server_tx_power_dbm": "transmit power of a base station",
    "server.deadline_s": "deadline of a round",
}


def in_words(key: str) -> str:
    """Return a dotted key in words, without the unit in its name: "transmit power" for `devices.tx_power_dbm`."""
    return WORDS.get(key.removesuffix(".kind"), bare(key))


def title(key: str) -> str:
    """Return a dotted key in words, as a title."""
    words = in_words(key)
    return words[:1].upper() + words[1:]
