"""Links that are too weak for a payload: transfers over them fail after a time that the scenario sets."""

import numpy as np

import channel
from channel.link_adaptation import LinkAdaptation
from channel.transfer import MAX_SLOTS
from edgefl.core.arrays import Bools, Floats
from edgefl.core.times import steps_completed
from edgefl.radio.budget.link_budget import LinkBudget
from edgefl.radio.participants import Participants
from edgefl.radio.prices.slot_rates import rates_in_time
from edgefl.radio.transfers import Way

DOUBTFUL = 1e3  # times the least rate: a link that is faster over Rayleigh fading is also good in Ricean fading


class HopelessLinks:
    """Finds the transfers that would take more than `MAX_SLOTS` on average, and the slots after which they fail.

    Args:
        budget: of the links.
        adaptation: of the links, if the scenario has one.
        longest_slots: the slots that any transfer may take; None: no limit.
    """

    def __init__(self, budget: LinkBudget, adaptation: LinkAdaptation | None, longest_slots: int | None) -> None:
        self._budget = budget
        self._adaptation = adaptation
        self._slot_s = budget.radio.slot_s
        self._longest_slots = longest_slots

    @property
    def failing_slots(self) -> int | None:
        """The slots after which a transfer over a hopeless link fails; None: no limit."""
        hopeless_s = self._budget.radio.faults.hopeless_s
        if hopeless_s is None:
            return None
        slots = steps_completed(hopeless_s, self._slot_s)
        if self._longest_slots is not None:
            slots = min(slots, self._longest_slots)
        return min(slots, MAX_SLOTS)

    def fails_after(self, way: Way, participant: Participants, payload_bits: float) -> int | None:
        """Return the slots after which a transfer of one participant [1] fails; None if its link is not hopeless."""
        slots = self.failing_slots
        if slots is None or not self.alone(way, participant, payload_bits)[0]:
            return None
        return slots

    def alone(self, way: Way, participants: Participants, payload_bits: Floats | float) -> Bools:
        """Return which transfers [n] of payloads, one for all or [n], are hopeless even without others in the cell."""
        # The best case: no interference, and the widest useful share.
        budget = self._budget
        resources = budget.resources
        slot_share = resources.time_share(way) * resources.payload_share(way) * self._slot_s
        least_bps = np.broadcast_to(payload_bits, len(participants)) / (MAX_SLOTS * slot_share)
        drop = participants.drop
        bandwidth_hz = budget.lone_hz(way, drop.ids, drop.path_gain, participants.tx_power_w)
        mean_snr = budget.lone_snr(way, drop.ids, drop.path_gain, participants.tx_power_w, bandwidth_hz)
        return self._falls_short(mean_snr, participants, bandwidth_hz, least_bps)

    def on_shares(
        self,
        way: Way,
        participants: Participants,
        mean_snr: Floats,
        bandwidth_hz: Floats,
        slot_payload_bits: Floats,
    ) -> Bools:
        """Return which transfers [n] are hopeless on their shares of the band.

        Args:
            way: their direction.
            participants: of the transfers [n].
            mean_snr: [n] at |h|^2 = 1.
            bandwidth_hz: [n] their shares.
            slot_payload_bits: [n] scaled up as if all slots carried only payload.
        """
        slot_s = self._slot_s
        resources = self._budget.resources
        if resources.slot_shares(way) is not None:  # a frame's other slots carry nothing of this direction
            slot_s *= resources.time_share(way)
        least_bps = slot_payload_bits / (MAX_SLOTS * slot_s)
        return self._falls_short(mean_snr, participants, bandwidth_hz, least_bps)

    def _falls_short(
        self, mean_snr: Floats, participants: Participants, bandwidth_hz: Floats, least_bps: Floats
    ) -> Bools:
        """Return where the mean rate over the fading of participants [n] is less than `least_bps` [n]."""
        efficiency = self._budget.efficiency
        if self._adaptation is not None:
            mean_snr = mean_snr * self._adaptation.transmissions  # at best, HARQ adds them up
        least_bps_hz = least_bps / bandwidth_hz
        constant = participants.constant
        if constant.all():
            return np.asarray(self._still_bps_hz(mean_snr, participants, bandwidth_hz) < least_bps_hz)
        mean_bps_hz = self._budget.mean_bps_hz(mean_snr)
        k_factor = participants.drop.k_factor
        # The mean over Ricean fading takes a thousand rates, and most links are far from hopeless in any fading.
        doubtful = np.flatnonzero((k_factor > 0) & (mean_bps_hz < DOUBTFUL * least_bps_hz))
        if doubtful.size:
            mean_bps_hz[doubtful] = channel.rate.mean_ricean_bps_hz(efficiency, mean_snr[doubtful], k_factor[doubtful])
        still = np.flatnonzero(constant)
        if still.size:
            mean_bps_hz[still] = self._still_bps_hz(mean_snr[still], participants.only(still), bandwidth_hz[still])
        return np.asarray(mean_bps_hz < least_bps_hz)

    def _still_bps_hz(self, mean_snr: Floats, participants: Participants, bandwidth_hz: Floats) -> Floats:
        """Return the spectral efficiency [n] of channels that do not change."""
        efficiency = self._budget.efficiency
        slot_s = self._slot_s
        rates = rates_in_time(participants, efficiency, slot_s, bandwidth_hz, mean_snr)
        if rates is not None:
            rows = np.arange(len(participants))
            bits = rates.slot_bits(rows, np.zeros(rows.size, dtype=np.int64), 1)[:, 0]
            return np.asarray(bits / (bandwidth_hz * slot_s))
        # A correlation of -1 turns the sign of the scatter with each slot.
        after = participants.start * participants.correlation
        gains = channel.fading.ricean(np.stack([participants.start, after]), participants.drop.k_factor)
        return np.asarray(efficiency.bps_hz(mean_snr * np.abs(gains) ** 2).mean(axis=0))
