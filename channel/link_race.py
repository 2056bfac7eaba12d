"""Transfers side by side, slot by slot, each with link adaptation, until the first payload is complete.

A band is a table with a row for each transfer: what holds until the next division (`links`), and what changes with each
slot (`Table`). One loop draws the fading (as `gauss_markov` filters it), adapts the links and adds up the bits. A
caller that has gone too far puts back a copy of the table and goes less far: the generators' states are part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from channel import link_columns
from channel._arrays import Complex, Floats, Ints
from channel.fading import innovation_share
from channel.innovations import words_of_seeds
from channel.link_adaptation import LinkAdaptation

Words = npt.NDArray[np.uint64]


class Table(NamedTuple):
    """What changes from slot to slot, a row for each of n transfers."""

    state: Floats  # [n, REPORTS + delay], see `link_columns`
    gains: Complex  # [n, AHEAD_SLOTS] of the fading; those from `PLACE` on are still to come
    draws: Floats  # [n, AHEAD_SLOTS], in the same form, one for each slot
    fading: Words  # [n, 4] states of the generators (SFC64) of the fading
    chance: Words  # [n, 4] of the draws

    def copy(self) -> Table:
        """Return a copy, to which `put_back` returns."""
        return Table._make(column.copy() for column in self)

    def only(self, row: int) -> Table:
        """Return the table of one row, which changes with this one."""
        return Table._make(column[row : row + 1] for column in self)

    def put_back(self, kept: Table) -> None:
        """Take over all values of a copy."""
        for column, values in zip(self, kept, strict=True):
            column[...] = values


def begin(
    adaptation: LinkAdaptation, start: Complex, fading_seeds: Sequence[bytes], block_seeds: Sequence[bytes]
) -> Table:
    """Return the table of transfers [n] before their first slots.

    Args:
        adaptation: how their links are adapted.
        start: [n] the fading's gains in the slots before.
        fading_seeds: [n] 24 bytes each, as of `innovations_of_seeds`.
        block_seeds: [n], in the same form, of the blocks' draws.
    """
    count = len(start)
    state = np.zeros((count, link_columns.REPORTS + adaptation.report_delay_slots))
    state[:, [link_columns.PLACE, link_columns.DRAW_PLACE]] = link_columns.AHEAD_SLOTS
    state[:, link_columns.REPORT] = -1.0
    gains = np.zeros((count, link_columns.AHEAD_SLOTS), dtype=np.complex128)
    gains[:, -1] = start
    draws = np.zeros(gains.shape)
    return Table(state, gains, draws, words_of_seeds(fading_seeds), words_of_seeds(block_seeds))


def last_gains(table: Table) -> Complex:
    """Return the fading's gains [n] in the last slots."""
    places = table.state[:, link_columns.PLACE].astype(np.int64) - 1
    return table.gains[np.arange(len(places)), places]


def links(correlation: Floats, k_factor: Floats, mean_snr: Floats, slot_hz_s: Floats, payload_bits: Floats) -> Floats:
    """Return the columns [n, 7] of what holds until the next division.

    Args:
        correlation: [n] of the fading between neighbouring slots.
        k_factor: [n] Ricean K.
        mean_snr: [n] at |h|^2 = 1; 0 sends no blocks.
        slot_hz_s: [n] bandwidth that carries payload, times the length of a slot.
        payload_bits: [n] at which each is complete.
    """
    scattered_power = 1.0 / (k_factor + 1.0)
    line = np.sqrt(1.0 - scattered_power)
    scatter = np.sqrt(scattered_power)
    columns = (correlation, innovation_share(correlation), line, scatter, mean_snr, slot_hz_s, payload_bits)
    return np.stack(columns, axis=1)


def race(
    adaptation: LinkAdaptation, table: Table, of_links: Floats, sources: Ints, limit: int, given: Floats | None = None
) -> int:
    """Send payloads [n] side by side until the first is complete, or for `limit` slots; return the slots.

    Args:
        adaptation: schemes, curves, HARQ and outer loop.
        table: of the transfers; changed.
        of_links: [n, 7] see `links`.
        sources: [n] where the fading of each comes from: PROCESS, CONSTANT or GIVEN.
        limit: most slots.
        given: [n, limit] SNRs of the slots, used in the rows that are GIVEN.
    """
    from channel import _link_race  # late: numba takes long to load

    if given is None:
        given = np.empty((len(sources), 0))
    limits = (adaptation.up_db, adaptation.step_db, adaptation.most_offset_db, float(adaptation.transmissions))
    curves = (adaptation.efficiencies_bps_hz, adaptation.error_rates, adaptation.reached_db, limits)
    gains = table.gains.view(np.float64)
    rest = (table.state, gains, table.draws, table.fading, table.chance)
    slots: int = _link_race.race(sources, given, of_links, limit, *curves, *rest)
    return slots
