"""Access to the radio: the time before the first bit of each message, for any carrier.

A device requests a grant, leaves its idle state, or waits for TCP to start: `radio.access_s` stands for all of this. It
applies once a message, as attempts after a failure use the same connection.
"""

from collections.abc import Callable, Generator
from typing import Any

import simpy

from edgefl.core.arrays import Ids
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.messages import Messages, way_of
from edgefl.radio.transfers import OnAir, TransferResult, Way


class AccessCarrier:
    """Carries messages by another carrier, each after its access to the radio.

    Args:
        env: the clock.
        carrier: carries them.
        messages: of its participants [n].
        ids: the participants [n].
        access_s: returns the time of access of a message, by its direction and its bits.
        on_air: called when a device's radio is switched.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        carrier: Carrier,
        messages: Messages,
        ids: Ids,
        access_s: Callable[[Way, float], float],
        on_air: OnAir,
    ) -> None:
        self._env = env
        self._carrier = carrier
        self._messages = messages
        self._ids: list[int] = ids.tolist()
        self._access_s = access_s
        self._on_air = on_air

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier; the radio waits during the access, at idle power."""
        way = way_of(turn)
        access_s = self._access_s(way, self._messages.bits(row, turn))
        if access_s > 0:
            began_s = self._env.now
            self._on_air(self._ids[row], way, 0.0, 0.0)
            try:
                yield self._env.timeout(access_s)
            except simpy.Interrupt as cut:
                waited_s = self._env.now - began_s
                return TransferResult(0.0, 0.0, 0.0, 0.0, delivered=False, cut=str(cut.cause), access_s=waited_s)
        result = yield from self._carrier.send(row, turn)
        return result._replace(access_s=access_s)
