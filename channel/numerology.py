"""Resource blocks and slots of NR (3GPP TS 38.101-1, TS 38.101-2 and TS 38.211).

The carrier decides on the table: frequency range 2 begins at 24.25 GHz (TS 38.101-2, Table 5.1-1); every carrier below
it has the blocks of frequency range 1.
"""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Ints
from channel._checks import non_negative, positive, require

SUBCARRIERS = 12  # of a resource block (TS 38.211, clause 4.4.4.1)

# N_RB of TS 38.101-1 V17, Table 5.3.2-1: subcarrier spacing [kHz] -> channel bandwidth [MHz] -> resource blocks.
# At 15 kHz channels end at 50 MHz, at 60 kHz they begin with 10 MHz.
_MHZ = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)
N_RB: dict[int, dict[int, int]] = {
    15: dict(zip(_MHZ[:10], (25, 52, 79, 106, 133, 160, 188, 216, 242, 270), strict=True)),
    30: dict(zip(_MHZ, (11, 24, 38, 51, 65, 78, 92, 106, 119, 133, 162, 189, 217, 245, 273), strict=True)),
    60: dict(zip(_MHZ[1:], (11, 18, 24, 31, 38, 44, 51, 58, 65, 79, 93, 107, 121, 135), strict=True)),
}

# The same of TS 38.101-2 V17, Table 5.3.2-1, up to 52.6 GHz and beyond.
N_RB_FR2: dict[int, dict[int, int]] = {
    60: {50: 66, 100: 132, 200: 264},
    120: {50: 32, 100: 66, 200: 132, 400: 264},
}

FR2_FROM_HZ = 24.25e9  # where frequency range 2 begins (TS 38.101-2, Table 5.1-1)
BELOW_FR2_HZ = 3.5e9  # stands for any carrier of frequency range 1


def resource_blocks(bandwidth_hz: float, spacing_hz: float, carrier_hz: float = BELOW_FR2_HZ) -> int:
    """Return the resource blocks `N_RB` of a channel (TS 38.101-1 and TS 38.101-2, Tables 5.3.2-1).

    Args:
        bandwidth_hz: channel bandwidth [Hz], one of the table's.
        spacing_hz: subcarrier spacing [Hz]: 15, 30 or 60 kHz; 60 or 120 kHz in frequency range 2.
        carrier_hz: carrier frequency [Hz]; frequency range 2 from 24.25 GHz on.

    Returns:
        Number of resource blocks.

    Example:
        >>> resource_blocks(100e6, 30e3)
        273
        >>> resource_blocks(400e6, 120e3, carrier_hz=28e9)
        264
    """
    column = _column(spacing_hz, carrier_hz)
    wanted_mhz = float(positive("bandwidth_hz", bandwidth_hz)) / 1e6
    if wanted_mhz not in column:
        by_distance = sorted(column, key=lambda mhz: abs(mhz - wanted_mhz))
        nearest = sorted(by_distance[:2])
        known = " and ".join(f"{mhz} MHz" for mhz in nearest)
        raise ValueError(
            f"bandwidth_hz = {bandwidth_hz:g} is not a channel bandwidth at {spacing_hz / 1e3:g} kHz spacing: "
            f"the nearest are {known}"
        )
    return column[int(wanted_mhz)]


def block_hz(spacing_hz: float, carrier_hz: float = BELOW_FR2_HZ) -> float:
    """Return the bandwidth of a resource block [Hz], 12 subcarriers (TS 38.211, clause 4.4.4.1).

    The arguments are those of `resource_blocks`.
    """
    _column(spacing_hz, carrier_hz)
    return SUBCARRIERS * spacing_hz


def slot_s(spacing_hz: float, carrier_hz: float = BELOW_FR2_HZ) -> float:
    """Return the length of a slot of 14 symbols [s], 1 ms x 15 kHz / spacing (TS 38.211, Table 4.3.2-1).

    The arguments are those of `resource_blocks`.

    Example:
        >>> slot_s(30e3)
        0.0005
        >>> slot_s(120e3, carrier_hz=28e9)
        0.000125
    """
    _column(spacing_hz, carrier_hz)
    return 15.0 / spacing_hz


def whole_blocks(shares: ArrayLike, blocks: int) -> Ints:
    """Return whole blocks in proportion to shares by the method of largest remainders; ties go to the first.

    Args:
        shares: the exact shares [n], in any unit; not all zero.
        blocks: number of blocks.

    Returns:
        Blocks [n] that add up to `blocks`. A share of 0 gets none. If there are enough blocks, a positive share of less
        than 1 block gets 1; the rest is divided, each less than 1 away from its exact part.

    Example:
        >>> whole_blocks([6.5, 2.5, 1.9, 0.1], 11)
        array([6, 2, 2, 1])
    """
    due = non_negative("shares", shares)
    positive("blocks", blocks)
    require(np.asarray(due.sum() > 0), due.sum(), "the sum of shares", "above 0")
    due = due / due.max()  # sums of huge or tiny shares neither overflow nor vanish
    given = np.zeros(due.shape, dtype=np.int64)
    undecided = due > 0
    if np.count_nonzero(undecided) <= blocks:
        # A share of less than one block gets one. This leaves less for the others, so repeat.
        while True:
            left = blocks - given.sum()
            small = undecided & (due * left < due[undecided].sum())
            if not small.any():
                break
            given[small] = 1
            undecided &= ~small
    if undecided.any():
        left = blocks - int(given.sum())
        quota = np.where(undecided, due, 0.0) * left / due[undecided].sum()
        whole = np.floor(quota)
        # Remainders that differ only by rounding count as equal; a stable sort keeps them in order.
        by_remainder = np.argsort(np.round(whole - quota, 9), kind="stable")
        given += whole.astype(np.int64)
        given[by_remainder[: left - int(whole.sum())]] += 1
    return given


def _column(spacing_hz: float, carrier_hz: float) -> dict[int, int]:
    """Return the resource blocks of a spacing, by channel bandwidth [MHz]."""
    table = N_RB
    range_name = "FR1"
    if float(positive("carrier_hz", carrier_hz)) >= FR2_FROM_HZ:
        table = N_RB_FR2
        range_name = "FR2"
    if spacing_hz / 1e3 not in table:
        *others, last = (str(khz * 1000) for khz in table)
        known = f"{', '.join(others)} or {last}"
        raise ValueError(
            f"spacing_hz = {spacing_hz:.15g} is not a subcarrier spacing of {range_name} "
            f"(carrier {carrier_hz / 1e9:g} GHz): {known}"
        )
    return table[int(spacing_hz / 1e3)]
