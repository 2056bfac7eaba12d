"""Resource blocks and slots of NR in frequency range 1 (below 7.125 GHz)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._checks import non_negative, positive, require

SUBCARRIERS = 12  # of a resource block (TS 38.211, clause 4.4.4.1)
OVERHEAD_DOWNLINK = 0.14  # control, reference signals and the like in FR1 (TS 38.306, clause 4.1.2)
OVERHEAD_UPLINK = 0.08

# N_RB of TS 38.101-1 V17, Table 5.3.2-1: subcarrier spacing [kHz] -> channel bandwidth [MHz] -> resource blocks.
_MHZ = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)
N_RB: dict[int, dict[int, int]] = {
    15: dict(zip(_MHZ[:10], (25, 52, 79, 106, 133, 160, 188, 216, 242, 270), strict=True)),
    30: dict(zip(_MHZ, (11, 24, 38, 51, 65, 78, 92, 106, 119, 133, 162, 189, 217, 245, 273), strict=True)),
    60: dict(zip(_MHZ[1:], (11, 18, 24, 31, 38, 44, 51, 58, 65, 79, 93, 107, 121, 135), strict=True)),
}


def resource_blocks(bandwidth_hz: float, spacing_hz: float) -> int:
    """Resource blocks N_RB of a channel (TS 38.101-1, Table 5.3.2-1).

    Args:
        bandwidth_hz: channel bandwidth [Hz], one of the table's.
        spacing_hz: subcarrier spacing [Hz]: 15, 30 or 60 kHz.

    Raises:
        ValueError: no such spacing, or no such bandwidth at this spacing; names the nearest ones.
    """
    column = _column(spacing_hz)
    wanted_mhz = float(positive("bandwidth_hz", bandwidth_hz)) / 1e6
    if wanted_mhz not in column:
        near = sorted(sorted(column, key=lambda mhz: abs(mhz - wanted_mhz))[:2])
        known = " and ".join(f"{mhz} MHz" for mhz in near)
        raise ValueError(
            f"bandwidth_hz = {bandwidth_hz:g} is no channel bandwidth at {spacing_hz / 1e3:g} kHz spacing: "
            f"the nearest are {known}"
        )
    return column[int(wanted_mhz)]


def block_hz(spacing_hz: float) -> float:
    """Bandwidth of a resource block [Hz], 12 subcarriers (TS 38.211, clause 4.4.4.1).

    Raises:
        ValueError: the spacing is not 15, 30 or 60 kHz.
    """
    _column(spacing_hz)
    return SUBCARRIERS * spacing_hz


def slot_s(spacing_hz: float) -> float:
    """Length of a slot of 14 symbols [s], 1 ms x 15 kHz / spacing (TS 38.211, Table 4.3.2-1).

    Raises:
        ValueError: the spacing is not 15, 30 or 60 kHz.
    """
    _column(spacing_hz)
    return 15.0 / spacing_hz


def whole_blocks(shares: ArrayLike, blocks: int) -> NDArray[np.int64]:
    """Divide whole blocks in proportion to shares by the method of largest remainders; ties go to the first.

    Args:
        shares: what each is due [n], in any unit; not all zero.
        blocks: how many there are.

    Returns:
        Blocks [n] that add up to `blocks`. A share of 0 gets none. If there are enough blocks, a positive share that is
        due less than 1 block gets 1; what is left is divided, each less than 1 away from its exact part.

    Raises:
        ValueError: a negative share, NaN, no positive share, no block.
    """
    due = non_negative("shares", shares)
    positive("blocks", blocks)
    require(np.asarray(due.sum() > 0), due.sum(), "the sum of shares", "above 0")
    due = due / due.max()
    given = np.zeros(due.shape, dtype=np.int64)
    open_ = due > 0
    if np.count_nonzero(open_) <= blocks:  # who is due less than one block gets one; the others divide the rest
        while np.any(small := open_ & (due * (blocks - given.sum()) < due[open_].sum())):
            given[small] = 1
            open_ &= ~small
    if open_.any():
        left = blocks - int(given.sum())
        quota = np.where(open_, due, 0.0) * left / due[open_].sum()
        whole = np.floor(quota)
        first = np.argsort(np.round(whole - quota, 9), kind="stable")  # rounding makes no order among equals
        given += whole.astype(np.int64)
        given[first[: left - int(whole.sum())]] += 1
    return given


def _column(spacing_hz: float) -> dict[int, int]:
    if spacing_hz / 1e3 not in N_RB:
        raise ValueError(f"spacing_hz = {spacing_hz:.15g} is no subcarrier spacing of FR1: 15000, 30000 or 60000")
    return N_RB[int(spacing_hz / 1e3)]
