"""The global random generators that an app draws from, keyed by the device that draws."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from edgefl.core import global_draws
from edgefl.core.streams import Streams

SERVER = 0  # the ServerApp's entity; device k has k + 1


@contextmanager
def seeded(streams: Streams, entity: int, index: int) -> Iterator[None]:
    """Seed the generators of Python, NumPy and torch for a block, and restore their states afterwards.

    What a ClientApp draws is then a function of (seed, device, number of its message), in any order of devices.

    Args:
        streams: keyed randomness.
        entity: SERVER, or a device's number + 1.
        index: number of the message, from 0.
    """
    torch = sys.modules.get("torch")  # an app that does not use torch need not load it
    cuda_states = []
    if torch is not None and torch.cuda.is_available():
        cuda_states = torch.cuda.get_rng_state_all()
    with global_draws.seeded(int(streams.generator("flower", entity, index).integers(2**32))):
        try:
            yield
        finally:
            if torch is not None:
                torch.cuda.set_rng_state_all(cuda_states)
