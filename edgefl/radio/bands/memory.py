"""The memory of an allocation in time: numbers of each device that one clock of a band serves."""

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.returns import Array, Where, called
from edgefl.radio.allocation import Allocation

ROUNDING = 1e-9


class BandMemory:
    """Keeps the memory of devices, also while they have no transfer.

    Args:
        allocation: makes the next memory of the last one.
        slot_s: length of a slot.
    """

    def __init__(self, allocation: Allocation, slot_s: float) -> None:
        self.every_slots = allocation.every_slots  # the most that a turn holds
        self._allocation = allocation
        self._slot_s = slot_s
        self._of_device: dict[int, Floats] = {}  # [k] each
        self._until: dict[int, int] = {}  # the slot up to which it holds

    def at(self, devices: Ids, slot: int) -> Floats:
        """Return the memory [n, k] of devices when a slot begins."""
        if not devices.size:
            return np.zeros((0, self._allocation.memory_width))
        unknown = np.zeros(self._allocation.memory_width)
        memory = np.stack([self._of_device.get(device, unknown) for device in devices.tolist()])
        idle_slots = np.array([slot - self._until.get(device, slot) for device in devices.tolist()])
        if idle_slots.any():
            memory = self._remember(memory, np.zeros(devices.size), idle_slots * self._slot_s)
        return memory

    def note(self, devices: Ids, slot: int, count: int, sent_bits: Floats) -> None:
        """Note the bits [n] that transfers of devices have sent in `count` slots from a slot on."""
        each, row = np.unique(devices, return_inverse=True)  # a device may have several transfers
        lasted_s = np.full(each.size, count * self._slot_s)
        served_bps = np.bincount(row, sent_bits, each.size) / lasted_s
        memory = self._remember(self.at(each, slot), served_bps, lasted_s)
        for device, own in zip(each.tolist(), memory, strict=True):
            self._of_device[device] = own
            self._until[device] = slot + count

    def turns(self, devices: Ids, coming_bps: Floats, slot: int) -> Floats:
        """Return the fractions [n] of the coming slots that give transfers of devices in a cell the band."""
        parts = Array(devices.shape, "parts of the time [n], 0 to 1", least=0.0, most=1.0)
        must = Where(
            parts,
            lambda turns: turns.sum() <= 1.0 + ROUNDING,
            "parts that add up to 1 at most",
            lambda turns: f"{turns.sum():.6g}",
        )
        return called(self._allocation.turns, must, coming_bps, self.at(devices, slot))

    def _remember(self, memory: Floats, served_bps: Floats, lasted_s: Floats) -> Floats:
        must = Array(memory.shape, "a memory [devices, k]")
        return called(self._allocation.remember, must, memory, served_bps, lasted_s)
