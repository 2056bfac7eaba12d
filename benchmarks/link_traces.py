"""Write the synthetic link traces that come with edgefl: `python benchmarks/link_traces.py scenarios/link-traces.csv`.

Twelve recordings of a minute, second by second. A link is good or poor (a Markov chain), and around the level of its
state the logarithm of its rate is a Gauss-Markov process. They look like drive tests but were not measured.
"""

import argparse
import math
from pathlib import Path

import numpy as np

RECORDINGS = 12
SECONDS = 60
SEED = 1
MEDIAN_BPS = {"downlink": 30e6, "uplink": 6e6}
LEVEL = {"good": 1.0, "poor": 0.1}  # of the good rate
OTHER = {"good": "poor", "poor": "good"}
CHANGE = {"good": 0.04, "poor": 0.15}  # probability of leaving the state in a second
SPREAD = 0.4  # standard deviation of the rate's logarithm around its level
CORRELATION = 0.85  # of that between neighbouring seconds


def rates_bps(generator: np.random.Generator) -> list[tuple[int, int]]:
    """Return a recording's rates down and up, a pair for each second, in whole kbit/s."""
    state = "poor"
    if generator.random() < CHANGE["poor"] / (CHANGE["good"] + CHANGE["poor"]):
        state = "good"
    around = SPREAD * generator.standard_normal()
    rates = []
    for _ in range(SECONDS):
        if generator.random() < CHANGE[state]:
            state = OTHER[state]
        innovation = generator.standard_normal()
        around = CORRELATION * around + math.sqrt(1 - CORRELATION**2) * SPREAD * innovation
        level = math.exp(around) * LEVEL[state]
        down_bps = whole_kbps(MEDIAN_BPS["downlink"] * level)
        up_bps = whole_kbps(MEDIAN_BPS["uplink"] * level)
        rates.append((down_bps, up_bps))
    return rates


def whole_kbps(rate_bps: float) -> int:
    """Return a rate in bit/s, rounded to whole kbit/s."""
    return round(rate_bps / 1e3) * 1000


def main() -> None:
    """Write the recordings to the named file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    lines = ["device,time_s,downlink_bps,uplink_bps"]
    for recording in range(RECORDINGS):
        generator = np.random.default_rng([SEED, recording])
        for second, (down_bps, up_bps) in enumerate(rates_bps(generator)):
            lines.append(f"drive-{recording:02d},{second},{down_bps},{up_bps}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
