"""Selections by the channel and by the update together."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from edgefl.coordination.forecast import Forecast
from edgefl.coordination.selection.base import draws, lowest
from edgefl.coordination.selection.update_norm import UpdateNorm
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids, Ints
from edgefl.core.section import Count, Seconds, fault_at
from edgefl.core.streams import Streams

BITS_PER_VALUE = 32


class ChannelAndUpdate(UpdateNorm):
    """Large updates over strong channels (BC-BN2 and BN2-C: Amiri et al., IEEE TWC 20(6), 2021).

    `bc_bn2`: the devices with the strongest channels train, and those with the largest updates are chosen. `bn2_c`: all
    train, and those are chosen whose updates are largest, as far as their channels let them through in `upload_s`.
    """

    needs_csi: ClassVar[bool] = True  # it compares channels

    # Strong channels and among them large updates (bc_bn2), or both weighed at once (bn2_c).
    variant: Literal["bc_bn2", "bn2_c"] = "bc_bn2"
    # Number of candidates by their channels in bc_bn2, K_c; by default twice the participants.
    candidates_by_channel: Count | None = None
    upload_s: Seconds | None = None  # Time that each device has for its upload on an equal share, in bn2_c.

    @model_validator(mode="after")
    def _check_variant(self) -> ChannelAndUpdate:
        if self.variant == "bn2_c" and self.upload_s is None:
            raise fault_at(("upload_s",), "is required with bn2_c: how long an upload may take")
        if self.variant == "bc_bn2" and self.upload_s is not None:
            raise fault_at(("upload_s",), "belongs to bn2_c: leave it out, or set variant to bn2_c")
        if self.variant == "bn2_c" and self.candidates_by_channel is not None:
            raise fault_at(("candidates_by_channel",), "belongs to bc_bn2: with bn2_c all devices train: leave it out")
        return self

    def check(self, count: int, participants: int) -> str | None:
        """Return why there cannot be K_c candidates; None if there can."""
        wanted = self.candidates_by_channel
        if wanted is None or participants <= wanted <= count:
            return None
        bounds = f"from server.participants = {participants} to devices.count = {count}"
        return f"candidates_by_channel must be {bounds}, got {wanted}"

    def candidates(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices that train: in bc_bn2 those with the strongest channels, unknown ones first."""
        if self.variant == "bn2_c":
            return present
        forecast = view.forecast_of(present)
        gain = np.nan_to_num(forecast.path_gain * forecast.fading, nan=np.inf)
        wanted = self.candidates_by_channel or 2 * participants
        return np.sort(lowest(present, -gain, draws(present, index, streams, attempt=1), wanted))

    def polled_parameters(self, ids: Ids, view: ServerView) -> Ints | None:
        """Return how many parameters [n] each device can send in time, with their positions; None in bc_bn2."""
        if self.upload_s is None:
            return None
        return sendable_parameters(view.forecast_of(ids), self.upload_s)


def sendable_parameters(forecast: Forecast, upload_s: float) -> Ints:
    """Return how many parameters [n] of a model devices can send in a time on equal shares, from 1 to all.

    Each takes a number of 32 bits and its position. A device whose channel is unknown counts with all.
    """
    bps = forecast.up.rate_bps(forecast.up_snr_hz, forecast.share)
    parameters = forecast.model_parameters
    position_bits = math.ceil(math.log2(max(parameters, 2)))
    sent = np.nan_to_num(bps, nan=np.inf) * upload_s / (BITS_PER_VALUE + position_bits)
    return np.asarray(np.clip(sent, 1, parameters).astype(np.int64))
