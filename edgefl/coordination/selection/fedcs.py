"""FedCS."""

from typing import ClassVar, Literal

import numpy as np

from edgefl.coordination.forecast import Forecast
from edgefl.coordination.selection.base import Selection, draws, weighted
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.section import Count, Seconds
from edgefl.core.streams import Streams


class FedCS(Selection):
    """FedCS: as many devices as can upload one after another before a deadline, greedily (Nishio & Yonetani, ICC 2019).

    Algorithm 3, with each cell's uploads on its whole band. A cell's participants receive the model, side by side, then
    update, and upload in the order of their choice: Theta' = Theta + t_UL + max(0, t_UD - Theta). The device
    that prolongs its cell's round least comes next, and is skipped if it comes too late. Choosing and aggregating take
    no time here (T_CS = T_Agg = 0). Devices whose channel is unknown are heard before.
    """

    needs_csi: ClassVar[bool] = True  # it plans with predicted times
    count_varies: ClassVar[bool] = True  # as many take part as fit

    deadline_s: Seconds | None = None  # Time of a round, T_round; by default server.deadline_s.
    # Number of devices, drawn at random, that are asked for their resources; by default all present ones.
    requests: Count | None = None
    limit: Literal["participants", "none"] = "participants"  # Most devices that are chosen; with none as many as fit.

    @property
    def needs_deadline(self) -> bool:
        """There must be one, its own or the server's."""
        return self.deadline_s is None

    def check(self, count: int, participants: int) -> str | None:
        """Return why so many devices cannot be asked; None if they can."""
        if self.requests is None or self.requests <= count:
            return None
        return f"requests must be at most devices.count = {count}, got {self.requests}"

    def expected(self, participants: int, present: float) -> float:
        """Return the most that may be chosen."""
        most = present
        if self.limit == "participants":
            most = min(participants, present)
        if self.requests is not None:
            most = min(most, self.requests)
        return most

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices that fit, in the order of their uploads; ties are drawn.

        Raises:
            RunError: no device would be in time.
        """
        draw = draws(present, index, streams)
        asked = weighted(present, np.ones(len(present)), draw, self.requests or len(present))
        forecast = view.forecast_of(asked)
        unknown = np.isnan(forecast.upload_s(1.0))
        if unknown.any():  # nothing can be planned with them: they are heard first, in a separate round
            return asked[unknown][:participants]
        deadline_s = self.deadline_s or forecast.deadline_s
        most = len(asked)
        if self.limit == "participants":
            most = min(participants, most)
        return asked[packed(forecast, deadline_s, most)]


def packed(forecast: Forecast, deadline_s: float, most: int) -> Rows:
    """Return at most `most` rows of [n] that are in time, in the order of their uploads; the first wins a tie.

    Raises:
        RunError: no device would be in time.
    """
    cell = forecast.cell
    update_s = forecast.compute_s() + forecast.on_the_way_s()  # t_UD
    upload_s = forecast.upload_s(1.0)  # t_UL
    cells = int(cell.max()) + 1
    theta_s = np.zeros(cells)  # when a cell's last upload ends, counted from when the model is there
    sent_s = np.zeros(cells)  # T^d: when the model is there
    number = np.zeros(cells, dtype=np.int64)  # of the devices that are chosen
    left = np.isfinite(upload_s)
    chosen: list[int] = []
    while left.any() and len(chosen) < most:
        ends_s = theta_s[cell] + upload_s + np.maximum(0, update_s - theta_s[cell])
        received_s = _received_s(forecast, chosen, number)
        increase_s = np.where(left, received_s - sent_s[cell] + ends_s - theta_s[cell], np.inf)
        best = int(np.argmin(increase_s))
        place = cell[best]
        if received_s[best] + ends_s[best] >= deadline_s:
            left &= cell != place  # it prolongs its cell's round least, so all others there would be later still
            continue
        chosen.append(best)
        left[best] = False
        theta_s[place] = ends_s[best]
        sent_s[place] = received_s[best]
        number[place] += 1
    if not chosen:
        raise _none_in_time(forecast, deadline_s)
    return np.array(chosen, dtype=np.intp)


def _none_in_time(forecast: Forecast, deadline_s: float) -> RunError:
    """Return the error that names the device which would be first."""
    alone_s = forecast.download_s(1.0) + forecast.compute_s() + forecast.on_the_way_s() + forecast.upload_s(1.0)
    first = int(np.argmin(alone_s))
    return RunError(
        f"server.selection.deadline_s: no device would be in time for {deadline_s:g} s; the first would be device "
        f"{forecast.ids[first]}, after {alone_s[first]:.4g} s"
    )


def _received_s(forecast: Forecast, chosen: list[int], number: Ints) -> Floats:
    """Return when all chosen devices of each device's cell [n] have the model, and the device itself if it is next."""
    download_s = forecast.download_s(1.0 / (number[forecast.cell] + 1))
    slowest_s = np.zeros(len(number))
    np.maximum.at(slowest_s, forecast.cell[chosen], download_s[chosen])
    return np.asarray(np.maximum(slowest_s[forecast.cell], download_s))
