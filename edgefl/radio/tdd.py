"""The frame of a TDD radio: shares of the time, or slots of each direction (3GPP TS 38.213, clause 11.1)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.section import Section, fault, fault_at, shown
from edgefl.radio.transfers import WAYS, Way

TimeShare = Annotated[float, Field(gt=0, le=1)]
Symbols = Annotated[int, Field(ge=0, le=14)]
Slots = Annotated[int, Field(ge=0, le=5120)]

SYMBOLS = 14  # of a slot with the normal cyclic prefix
WHOLE = 1e-6  # of a slot: a period this close to whole slots has them
PERIODS_MS = (0.5, 0.625, 1.0, 1.25, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0)  # of dl-UL-TransmissionPeriodicity
OWN_LETTER: dict[Way, str] = {"down": "D", "up": "U"}  # of the slots of a direction in a pattern


class Tdd(Section):
    """Shares of the time that each direction may send."""

    downlink: TimeShare = 0.7  # Share of the time for the downlink.
    uplink: TimeShare = 0.3  # Share of the time for the uplink.

    @model_validator(mode="after")
    def _one_frame(self) -> Tdd:
        if self.downlink + self.uplink > 1 + 1e-9:
            total = self.downlink + self.uplink
            raise fault(f"downlink + uplink must be <= 1, got {total:g} ({self.downlink:g} + {self.uplink:g})")
        return self

    def time_share(self, way: Way, slot_s: float) -> float:
        """Return the share of the time of a direction."""
        return self.downlink if way == "down" else self.uplink

    def slot_shares(self, way: Way, slot_s: float) -> None:
        """Return None, as all slots are alike."""


class SpecialSlot(Section):
    """Symbols of a slot that changes from downlink to uplink; those in between are the guard period."""

    downlink: Symbols = 10  # Downlink symbols at the beginning of a slot S.
    uplink: Symbols = 2  # Uplink symbols at the end of a slot S.

    @model_validator(mode="after")
    def _one_slot(self) -> SpecialSlot:
        if self.downlink + self.uplink > SYMBOLS:
            raise fault(f"downlink + uplink must be <= {SYMBOLS} symbols, got {self.downlink + self.uplink}")
        return self


class SlotFrame(Section):
    """Base of the frames whose slots belong to one direction each."""

    def slot_shares(self, way: Way, slot_s: float) -> Floats:
        """Return the share [slots] of each slot of a period that belongs to a direction."""
        raise NotImplementedError

    def time_share(self, way: Way, slot_s: float) -> float:
        """Return the share of the time of a direction, in the long run."""
        return float(self.slot_shares(way, slot_s).mean())

    def check(self, slot_s: float) -> None:
        """Check the frame against the length of a slot; raise ValueError if it does not fit."""


class TddPattern(SlotFrame):
    """Slots that repeat: D downlink, U uplink, S special."""

    pattern: Annotated[str, Field(min_length=2, max_length=5120)]  # A letter for each slot, such as DDDSU.
    special: SpecialSlot = SpecialSlot()  # Symbols of the slots S.

    @model_validator(mode="after")
    def _both_ways(self) -> TddPattern:
        unknown = sorted(set(self.pattern) - set("DSU"))
        if unknown:
            text = f'must have the letters D, S and U only, got "{unknown[0]}" in {shown(self.pattern)}'
            raise fault_at(("pattern",), text)
        for way in WAYS:
            if OWN_LETTER[way] not in self.pattern and not ("S" in self.pattern and self._symbols(way)):
                raise fault_at(("pattern",), f"must have slots for the {way}link, got {shown(self.pattern)}")
        return self

    def slot_shares(self, way: Way, slot_s: float) -> Floats:
        """See SlotFrame; the slots may have any length."""
        shares = {OWN_LETTER[way]: 1.0, "S": self._symbols(way) / SYMBOLS}
        return np.array([shares.get(letter, 0.0) for letter in self.pattern])

    def _symbols(self, way: Way) -> int:
        return self.special.downlink if way == "down" else self.special.uplink


class TddCommon(SlotFrame):
    """Slots that repeat, as cells announce them: tdd-UL-DL-ConfigurationCommon."""

    period_ms: float  # Time after which the slots repeat.
    downlink_slots: Slots  # Whole downlink slots at the beginning of a period.
    downlink_symbols: Annotated[int, Field(ge=0, le=13)] = 0  # Downlink symbols after these slots.
    uplink_slots: Slots  # Whole uplink slots at the end of a period.
    uplink_symbols: Annotated[int, Field(ge=0, le=13)] = 0  # Uplink symbols before these slots.

    @model_validator(mode="after")
    def _both_ways(self) -> TddCommon:
        if self.period_ms not in PERIODS_MS:
            known = ", ".join(f"{period:g}" for period in PERIODS_MS)
            raise fault_at(("period_ms",), f"must be one of {known}, got {self.period_ms:g}")
        if not self.downlink_slots + self.downlink_symbols:
            raise fault_at(("downlink_slots",), "the downlink has neither slots nor symbols: give it some")
        if not self.uplink_slots + self.uplink_symbols:
            raise fault_at(("uplink_slots",), "the uplink has neither slots nor symbols: give it some")
        return self

    def check(self, slot_s: float) -> None:
        """Check that the period has a whole number of slots, and enough of them."""
        exact = self.period_ms * 1e-3 / slot_s
        slots = round(exact)
        if abs(exact - slots) > WHOLE or not slots:
            raise fault_at(("period_ms",), f"must be whole slots of {slot_s * 1e3:g} ms, got {self.period_ms:g}")
        whole = self.downlink_slots + self.uplink_slots
        symbols = SYMBOLS * whole + self.downlink_symbols + self.uplink_symbols
        # Symbols need a slot besides the whole ones, which both directions may share.
        partial = max(bool(self.downlink_symbols), bool(self.uplink_symbols))
        if whole + partial > slots or symbols > SYMBOLS * slots:
            text = f"slots and symbols of both directions do not fit into {slots} slots of {slot_s * 1e3:g} ms"
            raise fault_at(("downlink_slots",), text)

    def slot_shares(self, way: Way, slot_s: float) -> Floats:
        """See SlotFrame; flexible slots belong to neither direction."""
        slots = round(self.period_ms * 1e-3 / slot_s)
        shares = np.zeros(slots)
        if way == "down":  # from the beginning of the period
            shares[: self.downlink_slots] = 1.0
            if self.downlink_symbols:
                shares[self.downlink_slots] = self.downlink_symbols / SYMBOLS
            return shares
        first = slots - self.uplink_slots  # up to its end
        shares[first:] = 1.0
        if self.uplink_symbols:
            shares[first - 1] = self.uplink_symbols / SYMBOLS
        return shares


Frame = Tdd | TddPattern | TddCommon


def _parse_frame(value: Any, info: ValidationInfo) -> Frame:
    """Return the frame that a value means; raise pydantic's errors about that kind only."""
    # A union would report the faults of all kinds, also of those that the value does not mean.
    if isinstance(value, Frame):
        return value
    if isinstance(value, str):
        return TddPattern.model_validate({"pattern": value}, context=info.context)
    if not isinstance(value, dict):
        text = f'must be shares of the time {{downlink: .., uplink: ..}}, or slots such as "DDDSU", got {shown(value)}'
        raise fault(text)
    kind: type[Frame] = Tdd
    if "pattern" in value:
        kind = TddPattern
    elif set(value) & (set(TddCommon.model_fields) - set(Tdd.model_fields)):
        kind = TddCommon
    return kind.model_validate(value, context=info.context)


def _dump_frame(value: Frame | None) -> Any:
    """Return a frame in the form that `_parse_frame` reads."""
    if value is None:
        return None
    return value.model_dump()


TddFrame = Annotated[
    Tdd | TddPattern | TddCommon,
    PlainValidator(_parse_frame, json_schema_input_type=Tdd | TddPattern | TddCommon | str),
    PlainSerializer(_dump_frame),
]
