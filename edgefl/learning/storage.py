"""The numbers of bytes that a device and the server keep from one round to the next."""

from collections.abc import Mapping
from typing import Any

from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.trial import zeros
from edgefl.learning.codecs.base import BITS_PER_FLOAT

BYTES_PER_FLOAT = BITS_PER_FLOAT // 8


def storage(
    algorithm: Algorithm, learning: Algorithm, model_bytes: int, frozen_bytes: int, known: int, history_bytes: int
) -> dict[str, int]:
    """Return the bytes that the server and a device keep, as in summary.json, counted on vectors of zeros.

    Returns:
        `server_bytes`: the model, the algorithm's state, its rows for each device, and the models for later sessions;
        `device_bytes`: the model, the device's state, and what it receives once a session and keeps until its end.
    """
    d = model_bytes // BYTES_PER_FLOAT

    def kept_by_server(size: int) -> int:
        w = zeros(algorithm, size)
        return _floats(algorithm.server_state(w)) + known * _floats(algorithm.device_rows(w))

    def kept_by_device(size: int) -> int:
        w = zeros(learning, size)
        received = learning.downlink(learning.server_state(w))
        once = {name: received[name] for name in learning.sent_once()}
        return len(w) + _floats(learning.client_state(w)) + _floats(once)

    return {
        "server_bytes": frozen_bytes
        + BYTES_PER_FLOAT * _extended(kept_by_server(1), kept_by_server(2), d)
        + history_bytes,
        "device_bytes": frozen_bytes + BYTES_PER_FLOAT * _extended(kept_by_device(1), kept_by_device(2), d),
    }


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(len(vector) for vector in vectors.values())


def _extended(of_1: int, of_2: int, d: int) -> int:
    """Return the number of floats for a model of size d: it is linear in d, so sizes 1 and 2 give it."""
    return of_1 + (of_2 - of_1) * (d - 1)
