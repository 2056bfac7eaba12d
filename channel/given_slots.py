"""Transfers over slots whose bits the caller gives: fading that is a function of time, or a frame of two directions.

`slot_walk` knows the process behind its slots and is faster.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Ints, Rows
from channel._checks import non_negative, require, vectors

SlotBits = Callable[[Rows, Ints, int], Floats]
"""`slot_bits(rows, first, count)`: bits [r, count] of transfers `rows` [r] in slots `first` [r] and after."""

CHUNK_VALUES = 2**14  # slots in one call of the source, all transfers together: bounds the memory
GROUP_ROWS = 64  # transfers walked side by side
LEAST_SLOTS = 32  # in one call


class Passage(NamedTuple):
    """The slots used and the bits sent of transfers, each [n]."""

    slots: Ints
    sent_bits: Floats


def passage(
    payload_bits: ArrayLike, limit_slots: ArrayLike, slot_bits: SlotBits, expected_slots: ArrayLike = np.inf
) -> Passage:
    """Return how many slots and bits each payload takes until it is complete or at its limit.

    A row's result depends only on its own bits, not on the other rows or on how calls group the slots.

    Args:
        payload_bits: bits to send [bit], [n]; 0 takes no slot.
        limit_slots: the most slots that a transfer may use, whole, [n] or a scalar.
        slot_bits: bits that slots carry; called for each row's slots in order, and beyond its last one.
        expected_slots: about how many slots a transfer takes, [n] or a scalar; decides how many one call returns.

    Returns:
        Slots and bits [n]; a complete payload is sent exactly.

    Raises:
        ValueError: an argument is out of range or NaN, or `slot_bits` returns another shape or NaN.

    Example:
        Every third slot carries 10 bits.

        >>> passage([25.0], 100, lambda rows, first, count: 10.0 * ((first[:, None] + np.arange(count)) % 3 == 0)).slots
        array([7])
    """
    limit = np.asarray(limit_slots)
    require((limit >= 0) & (limit == np.floor(limit)), limit, "limit_slots", "a whole number, at least 0")
    payload, limits, expected = vectors(non_negative("payload_bits", payload_bits), limit, expected_slots)
    used = np.zeros(payload.size, dtype=np.int64)
    sent = np.zeros(payload.size)
    waiting = np.flatnonzero((payload > 0) & (limits > 0))
    for begin in range(0, waiting.size, GROUP_ROWS):
        rows = waiting[begin : begin + GROUP_ROWS]
        while rows.size:
            left = np.minimum(expected, limits)[rows] - used[rows]
            bits = _asked(slot_bits, rows, used[rows], _chunk(left))
            # The sum starts from the bits sent before, so that its rounding does not depend on the chunks.
            bits[:, 0] += sent[rows]
            total = bits.cumsum(axis=1)
            needed = (total < payload[rows, None]).sum(axis=1) + 1  # beyond the chunk: not complete yet
            room = np.minimum(limits[rows] - used[rows], bits.shape[1]).astype(np.int64)
            count = np.minimum(needed, room)
            reached = total[np.arange(rows.size), count - 1]
            sent[rows] = np.where(needed <= room, payload[rows], reached)
            used[rows] += count
            rows = rows[(sent[rows] < payload[rows]) & (used[rows] < limits[rows])]
    return Passage(used, sent)


def periodic_passage(payload_bits: float, limit_slots: float, frame_bits: ArrayLike) -> tuple[int, float]:
    """Return the slots used and the bits sent of one transfer whose slots repeat, without a walk.

    Args:
        payload_bits: bits to send [bit].
        limit_slots: the most slots that it may use, whole or infinite.
        frame_bits: bits of the slots of a period from its first slot on [bit], [slots].

    Returns:
        Slots and bits; the limit if the payload is never complete.

    Example:
        >>> periodic_passage(25.0, 100, [10.0, 0.0, 0.0])
        (7, 25.0)
    """
    payload = float(non_negative("payload_bits", payload_bits))
    bits = non_negative("frame_bits", frame_bits)
    if payload == 0:
        return 0, 0.0
    total = bits.cumsum()
    of_frame = float(total[-1])
    slots = np.inf
    if of_frame > 0:
        # Whole periods before the payload's last one; an exact fill ends in its last period.
        almost = payload * (1.0 - 4.0 * np.finfo(float).eps)
        before = max(np.ceil(almost / of_frame) - 1.0, 0.0)
        rest = almost - before * of_frame
        slots = before * bits.size + min(int((total < rest).sum()), bits.size - 1) + 1
    if slots <= limit_slots:
        return int(slots), payload
    periods, inside = divmod(int(limit_slots), bits.size)
    sent = periods * of_frame + float(bits[:inside].sum())
    return int(limit_slots), min(sent, payload)


def _chunk(left: Floats) -> int:
    """Return the number of slots in one call: about as many as half of the rows still need."""
    wanted = 1.05 * max(float(np.median(left)), 0.0) + LEAST_SLOTS
    return int(max(min(wanted, CHUNK_VALUES // left.size), LEAST_SLOTS))


def _asked(slot_bits: SlotBits, rows: Rows, first: Ints, count: int) -> Floats:
    """Return the bits of the next slots of `rows`, checked."""
    bits = np.array(slot_bits(rows, first, count), dtype=np.float64)
    if bits.shape != (rows.size, count):
        raise ValueError(f"slot_bits returned shape {bits.shape}: it must return shape {(rows.size, count)}")
    require(bits >= 0, bits, "slot_bits", "not negative")
    return bits
