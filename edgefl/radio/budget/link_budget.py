"""The link budget: from transmit powers over path gains to signal-to-noise ratios.

Path gains include the antennas (`LargeScaleChannel`). The devices' transmit powers come from `World.tx_power_w`, and
`UplinkPowerControl` may lower them; the devices' energy uses the same powers.
"""

from typing import NamedTuple

import numpy as np

import channel
from channel.link_adaptation import LinkAdaptation
from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.returns import ANYTHING, Array, called, check, is_trusted, wrong
from edgefl.core.streams import Streams
from edgefl.radio.budget.resources import Resources
from edgefl.radio.fading.none import NoFading
from edgefl.radio.radio_section import Radio
from edgefl.radio.rates import Rate
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Cells
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl

LEAST_HZ = 1.0  # of a share: nothing arrives on it if no share is useful
LEAST_POWER_SHARE = 1e-12  # stands for a power of 0 in a denominator


class OtherTransmitters(NamedTuple):
    """The other users of the cells in one direction."""

    counts: Floats  # [cells] on the air; a fraction if it is a mean over time
    free_shares: Floats  # [cells] of the band, or of the turns, that they leave to the devices
    received_w: Floats  # [cells, cells] power that the second's base station receives of one sender of the first


class LinkBudget:
    """Powers, noise and interference, and the rate model behind them."""

    def __init__(
        self,
        radio: Radio,
        cells: Cells,
        control: Control = BY_SCENARIO,
        power_control: UplinkPowerControl = ALWAYS_FULL,
        streams: Streams | None = None,
    ) -> None:
        self.radio = radio
        self.power_control = power_control
        self.resources = Resources(radio, control, streams)
        self.efficiency = called(radio.rate.efficiency, ANYTHING)
        _check_efficiency(radio.rate, self.efficiency)
        self.adaptation: LinkAdaptation | None = radio.errors.link_adaptation(radio.rate)
        self._best_snr = channel.useful_width.best_snr(self._expected_bps_hz)
        self.noise_w_hz: dict[Way, float] = {  # by direction
            "down": float(channel.rate.noise_w_hz(radio.noise_dbm_hz, radio.noise_figure_of("device"))),
            "up": float(channel.rate.noise_w_hz(radio.noise_dbm_hz, radio.noise_figure_of("base_station"))),
        }
        self.server_tx_power_w = float(channel.units.dbm_to_w(radio.server_tx_power_dbm))
        self.group = np.zeros(cells.count, dtype=np.int64)  # cells of one group use the same part of the band
        if radio.reuse > 1:
            of_sites = channel.geometry.reuse_group(cells.sites, radio.reuse)
            self.group = np.repeat(of_sites, cells.sectors)  # sectors of one site interfere with each other

    def mean_bps_hz(self, mean_snr: Floats) -> Floats:
        """Return the mean spectral efficiency [n] over Rayleigh fading."""
        return channel.rate.mean_rayleigh_bps_hz(self.efficiency, mean_snr)

    def _expected_bps_hz(self, mean_snr: Floats) -> Floats:
        """Return the spectral efficiencies [n] that a scheduler expects at mean SNRs [n], for useful shares.

        They are means over Rayleigh fading, for any kind of fading, or rates at the mean SNR without fading.
        """
        if self.adaptation is not None:
            mean_snr = mean_snr * self.adaptation.transmissions  # at best, HARQ adds them up
        if isinstance(self.radio.fading, NoFading):
            return self.efficiency.bps_hz(mean_snr)
        return self.mean_bps_hz(mean_snr)

    def snr_hz(self, way: Way, path_gain: Floats, tx_power_w: Floats, interference_w_hz: Floats | float) -> Floats:
        """Return received power over the density of noise and interference [n], P psi / (N0 + I0)."""
        # `divide_bands` divides by the bandwidth over which a base station spreads its power: a share or the band.
        power_w: Floats | float = tx_power_w
        if way == "down":
            power_w = self.server_tx_power_w
        return np.asarray(power_w * path_gain / (self.noise_w_hz[way] + interference_w_hz))

    def spreads_power(self, way: Way) -> bool:
        """Return whether the transmitter spreads its power over the whole band, whatever a transfer's share."""
        return way == "down" and self.radio.server_power == "total"

    @property
    def interferes(self) -> bool:
        """True if transmissions in a cell lower the rates in others."""
        return self.radio.interference is not None and len(self.group) > 1

    def power_share(self, way: Way, ids: Ids, bandwidth_hz: Floats, path_gain: Floats) -> Floats:
        """Return the sent shares [n] of the transmitters' full powers, in [0, 1].

        `bandwidth_hz` [n] are the devices' shares of the band while they are served.
        """
        if way == "up":
            return self.power_control.power_share(ids, bandwidth_hz, path_gain)
        if self.spreads_power(way):
            return np.asarray(bandwidth_hz / self.resources.band_hz)
        return np.ones(len(ids))

    def widest_hz(self, way: Way, ids: Ids, path_gain: Floats, snr_hz: Floats) -> Floats | None:
        """Return the widest useful shares of the band [n], in whole resource blocks if the band has them.

        A wider share has a lower rate, as it spreads the power too thin for the schemes of `radio.rate`. None: the
        whole band is useful to all. `snr_hz` [n] is the result of the method for full powers.
        """
        if self._best_snr == 0 or self.spreads_power(way):
            return None
        band_hz = self.resources.band_hz
        widest_hz = np.clip(snr_hz / self._best_snr, LEAST_HZ, band_hz)
        # Power control leaves power for a wider share at the same SNR, until full power is reached.
        power_share = self.power_share(way, ids, widest_hz, path_gain)
        widest_hz = np.minimum(widest_hz / np.maximum(power_share, LEAST_POWER_SHARE), band_hz)
        if self.resources.blocks is None:
            return widest_hz
        block_hz = band_hz / self.resources.blocks
        narrower_hz = block_hz * np.maximum(np.floor(widest_hz / block_hz), 1.0)
        wider_hz = np.minimum(narrower_hz + block_hz, band_hz)
        narrower_bps = self._expected_bps(way, ids, path_gain, snr_hz, narrower_hz)
        wider_bps = self._expected_bps(way, ids, path_gain, snr_hz, wider_hz)
        return np.asarray(np.where(wider_bps > narrower_bps, wider_hz, narrower_hz))

    def _expected_bps(self, way: Way, ids: Ids, path_gain: Floats, snr_hz: Floats, bandwidth_hz: Floats) -> Floats:
        """Return the rates [n] that a scheduler expects on shares [n] of the band; see `widest_hz`."""
        sent_hz = snr_hz * self.power_share(way, ids, bandwidth_hz, path_gain)
        return np.asarray(bandwidth_hz * self._expected_bps_hz(sent_hz / bandwidth_hz))

    def lone_hz(self, way: Way, ids: Ids, path_gain: Floats, tx_power_w: Floats) -> Floats:
        """Return the bandwidths [n] of devices, each with its cell to itself, without interference; see `lone_snr`."""
        whole_band_hz = np.full(len(ids), self.resources.band_hz)
        if way == "down" and self.radio.downlink == "broadcast":
            return whole_band_hz
        widest_hz = self.widest_hz(way, ids, path_gain, self.snr_hz(way, path_gain, tx_power_w, 0.0))
        if widest_hz is None:
            return whole_band_hz
        return widest_hz

    def lone_snr(
        self, way: Way, ids: Ids, path_gain: Floats, tx_power_w: Floats, bandwidth_hz: Floats | float
    ) -> Floats:
        """Return the signal-to-noise ratios [n] of devices, each with its cell to itself, without interference.

        `tx_power_w` [n] are full powers; `bandwidth_hz` is the part of the band that each uses, one for all or [n].
        """
        sent_w = tx_power_w
        if way == "up":
            sent_w = tx_power_w * self.power_share(way, ids, np.full(len(ids), bandwidth_hz), path_gain)
        powered_hz: Floats | float = bandwidth_hz
        if self.spreads_power(way):
            powered_hz = self.resources.band_hz
        return np.asarray(self.snr_hz(way, path_gain, sent_w, 0.0) / powered_hz)

    def interference_w_hz(
        self,
        way: Way,
        all_gains: Floats,
        cell: Ints,
        tx_power_w: Floats,
        transfers: Ints,
        others: OtherTransmitters | None = None,
    ) -> Floats | float:
        """Return the interference density at the receivers of transfers [n], while `transfers` [cells] are under way.

        Args:
            way: the direction of the transfers.
            all_gains: [n, cells] path gains between their devices and every cell.
            cell: [n] the cells that serve them.
            tx_power_w: [n] powers of the devices.
            transfers: [cells] number under way in each cell.
            others: the other users of the cells; None: there are none.
        """
        section = self.radio.interference
        if section is None or not self.interferes:
            return 0.0
        band_hz = self.resources.band_hz
        in_turn = self.radio.allocation.in_turn  # then a cell's transfers are on air one at a time
        if way == "up":
            mean_w = section.load * tx_power_w
            if in_turn:
                mean_w = mean_w / transfers[cell]
                if others is not None:
                    mean_w *= others.free_shares[cell]
            interference = channel.interference.uplink_w_hz(all_gains, cell, self.group, mean_w, band_hz)
            if others is not None:
                interference = interference + self._from_others_w_hz(others, transfers, section.load)
            return interference[cell]
        # A base station sends its power once: over the band, in one turn, or in a broadcast. Powers add up only if
        # shares each get the full power at the same time.
        each_full = self.radio.downlink == "unicast" and self.radio.server_power == "per_device" and not in_turn
        served: Floats | Ints = transfers
        if others is not None:
            served = transfers + others.counts
        sending = served
        if not each_full:
            sending = np.minimum(served, 1)
        server_w = section.load * self.server_tx_power_w * sending
        return channel.interference.downlink_w_hz(all_gains, cell, self.group, server_w, band_hz)

    def _from_others_w_hz(self, others: OtherTransmitters, transfers: Ints, load: float) -> Floats:
        """Return the interference density [cells] in uplinks from the other users of other cells."""
        senders = others.counts
        if self.radio.allocation.in_turn:  # one at a time, in the turns that devices leave
            senders = np.where(transfers > 0, 1.0 - others.free_shares, np.minimum(others.counts, 1.0))
        cells = np.arange(len(self.group))
        return channel.interference.uplink_w_hz(
            others.received_w, cells, self.group, load * senders, self.resources.band_hz
        )

    def full_load(self, path_gain: Floats, all_gains: Floats, cell: Ints) -> tuple[Floats, Floats]:
        """Return the SINR and SIR of devices [n] while every cell sends its whole power over its band, without fading.

        3GPP calls the first geometry (TR 38.901, clause 7.8.1).

        Args:
            path_gain: [n] to the cells that serve them.
            all_gains: [n, cells] to every cell.
            cell: [n] the cells that serve them.

        Returns:
            Signal over interference and noise [n], and over interference only [n], infinite without interference.
        """
        band_hz = self.resources.band_hz
        powers_w = np.full(len(self.group), self.server_tx_power_w)
        interference_w_hz = channel.interference.downlink_w_hz(all_gains, cell, self.group, powers_w, band_hz)
        signal_w_hz = self.server_tx_power_w * path_gain / band_hz
        alone = np.full(len(path_gain), np.inf)
        sir = np.divide(signal_w_hz, interference_w_hz, out=alone, where=interference_w_hz > 0)
        return signal_w_hz / (interference_w_hz + self.noise_w_hz["down"]), sir


def _check_efficiency(rate: Rate, efficiency: object) -> None:
    """Check the spectral efficiency of a rate model from outside at some SNRs; raise WrongReturn if it is wrong."""
    if is_trusted(rate):
        return
    what = "an object with methods bps_hz and rayleigh_bps_hz that return spectral efficiencies [n] from 0"
    trial = np.array([0.0, 1.0, 100.0])
    for method in ("bps_hz", "rayleigh_bps_hz"):
        if not callable(getattr(efficiency, method, None)):
            raise wrong(rate, "efficiency", f"a {type(efficiency).__name__} without {method}", what)
        found = called(getattr(efficiency, method), ANYTHING, trial)
        check(rate, "efficiency", found, Array(trial.shape, what, least=0.0))
