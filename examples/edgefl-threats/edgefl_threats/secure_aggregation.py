"""What secure aggregation costs: the messages of its four rounds, and the bits of a masked value.

Source: Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS 2017, section 7:
a user sends and receives 2 n a_K + (5 n - 4) a_S + m ceil(log2 R) bits. With `neighbours` each user shares keys and
secrets with k others instead of n - 1 (Bell et al., "Secure single-server aggregation with (poly)logarithmic
overhead", CCS 2020), so k + 1 takes the place of n.
"""

from collections.abc import Generator
from math import ceil, log2
from typing import Annotated, Any, NamedTuple

import numpy as np
import simpy
import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor

from edgefl.coordination.policies import Coordinator, Policy
from edgefl.learning.codecs import Codec


class Message(NamedTuple):
    """The bits that one user receives and sends in a round of the protocol, besides model and masked update."""

    down_bits: float
    up_bits: float


class Messages(NamedTuple):
    """The messages of one user, in their order; the masked update is sent between `shares` and `unmasking`."""

    keys: Message  # it sends its two public keys
    shares: Message  # it receives the others' keys, and sends each an encrypted share of both its secrets
    masks: Message  # it receives the shares that the others have sent it
    unmasking: Message  # it sends the shares of those that have left, or of the others' own masks

    @property
    def bits(self) -> float:
        """The bits of all of them, both ways."""
        return sum(message.down_bits + message.up_bits for message in self)


def messages(group: int, key_bits: int = 256, share_bits: int = 256) -> Messages:
    """Return the messages of one user in a group of n users that share keys and secrets, itself among them."""
    others = group - 1
    return Messages(
        keys=Message(0.0, 2.0 * key_bits),
        shares=Message(2.0 * others * key_bits, 2.0 * others * share_bits),
        masks=Message(2.0 * others * share_bits, 0.0),
        unmasking=Message(0.0, float(group * share_bits)),
    )


class SecureAggregation(Policy):
    """Synchronous rounds with the messages of secure aggregation (Bonawitz et al., CCS 2017; Bell et al., CCS 2020).

    A device that fails in one of the protocol's rounds takes no part in the later ones. Masks cost no operations.
    """

    key_bits: PositiveInt = 256  # Bits of a public key, a_K.
    share_bits: PositiveInt = 256  # Bits of a secret's share, a_S.
    # With how many others each device shares keys and secrets, k; by default with all participants of the round.
    neighbours: PositiveInt | None = None

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: keys, shares, masks, training and masked updates, unmasking."""
        while (yield from server.ready()):
            ids = server.select()
            group = len(ids)
            if self.neighbours is not None:
                group = min(group, self.neighbours + 1)
            sent = messages(group, self.key_bits, self.share_bits)
            for message in (sent.keys, sent.shares, sent.masks):
                ids = yield from server.ask(ids, *message)
            processes = server.dispatch(ids)
            yield server.env.all_of(processes)
            received = [process.value == "received" for process in processes]
            yield from server.ask(ids[received], *sent.unmasking)
            server.aggregate()


class Masked(Codec):
    """Masked values: whole numbers of `bits_each` bits, modulo a number that holds the sum of all participants.

    Values are clipped and rounded at random, so that their mean stays right within the clip. The server sees only
    their sum; the masks, which cancel in it, are not drawn.
    """

    participants: PositiveInt  # How many updates are added up: those of server.participants, n.
    bits_each: Annotated[int, Field(ge=2, le=32)] = 16  # Bits of a value before it is masked, b.
    clip: PositiveFloat = 1.0  # Values beyond +-clip are cut off.

    @property
    def value_bits(self) -> int:
        """The bits of a masked value, ceil(log2 R), where `R = n (2^b - 1) + 1`."""
        return ceil(log2(self.participants * (2**self.bits_each - 1) + 1))

    def bits(self, d: int) -> float:
        """Return the bits of d masked values."""
        return float(d * self.value_bits)

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the values that the levels stand for: the mean over devices is the same as that of their sum."""
        highest = 2 ** (self.bits_each - 1) - 1  # levels lie on both sides of 0, which is one of them
        step = self.clip / highest
        levels = x.double().clamp(-self.clip, self.clip) / step
        up_to_one = torch.from_numpy(rng.random(tuple(x.shape))).to(x.device)
        return ((levels + up_to_one).floor().clamp(max=highest) * step).to(x.dtype)
