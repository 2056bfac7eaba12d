"""Prints the quickstart's price in a world as engineers set it beside worlds with fewer losses: docs/realism.md.

    python benchmarks/realism.py

Only the world runs, without learning, as no price depends on what is learned.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import edgefl

# Each world leaves out more of what the preset has; all keep 20 MHz and the walks of the quickstart.
WITHOUT_LOSSES = {
    "rate": "shannon", "errors": "none", "tdd": None, "overhead": None, "noise_figure_db": 0, "access_s": 0,
    "subcarrier_spacing_hz": None, "server_power": "per_device", "propagation": "umi_los", "fading": "rayleigh",
    "least_speed_mps": 0, "least_rsrp_dbm": None, "power_control": "full",
}  # fmt: skip
PLAIN_DEVICES = {
    "preset": None,
    "battery": None,
    "radio_energy": None,
    "rx_power_w": 0.1,
    "idle_power_w": 0,
    "cpu_static_w": 0,
}
WORLDS = {
    "`preset: nr`, phones": {},
    "`power_control: full`": {"radio.power_control": "full"},
    "`rate: shannon`, no block errors": {"radio.rate": "shannon", "radio.errors": "none"},
    "in sight of the antenna": {"radio.propagation": "umi_los"},
    "no losses, phones": {f"radio.{key}": value for key, value in WITHOUT_LOSSES.items()},
    "no losses, radios without circuits": {
        **{f"radio.{key}": value for key, value in WITHOUT_LOSSES.items()},
        **{f"devices.{key}": value for key, value in PLAIN_DEVICES.items()},
    },
}
ENERGIES = {
    "sending": "tx_energy_j",
    "receiving": "rx_energy_j",
    "waiting": "idle_energy_j",
    "computing": "cpu_energy_j",
}


def row(name, changes):
    """Return a line of the table: time, energy, and which share of it goes to what."""
    overrides = [f"{key}={'null' if value is None else value}" for key, value in changes.items()]
    result = edgefl.run("quickstart", overrides=overrides, train=False)
    joules = {state: result.devices[column].sum() for state, column in ENERGIES.items()}
    total_j = sum(joules.values())
    shares = [f"{100 * value / total_j:.0f} %" for value in joules.values()]
    rates = {each.published.name: each.value for each in result.plausibility()}
    up = f"{rates['upload']:.1f}"
    time_s, energy_j = result.summary["time_s"], result.summary["energy_j"]
    return [name, f"{time_s / 60:.1f} min", f"{energy_j:,.0f} J", *shares, up]


def main():
    print("| world | time | energy | " + " | ".join(ENERGIES) + " | bit/s/Hz up |")
    print("|---|" + "--:|" * 7)
    for name, changes in WORLDS.items():
        print("| " + " | ".join(row(name, changes)) + " |")


if __name__ == "__main__":
    main()
