"""Keyed randomness: every random number is a function of (seed, purpose, entity, index), never "the next one".

So device 7's shadowing in round 12 is the same number whatever the population, the algorithm, the order of events or
the number of workers. Two ways in: arrays of uniforms or normals by key, and a NumPy Generator for permutations,
Dirichlet draws and long fading walks.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Philox4x32-10).
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from edgefl.core.arrays import Floats

Purpose = Literal[
    "attribute",  # a device's drawn properties; index = which property
    "placement",  # where a device stands at time 0
    "waypoint",  # random waypoint's legs; index = leg, as in the next one
    "member",  # a member's own way within its group
    "heading",  # where a device starts and goes at constant velocity
    "gauss_markov",  # its start and all its updates
    "street",  # its start and all its turns or destinations
    "selection",  # who takes part; index = round
    "awaited",  # of whom the next model waits; index = round
    "availability",  # whether a device is there; index = round
    "stay",  # how long it is there and away; entity = device and how often it has come and gone
    "day",  # when on a day; entity = device and day
    "shadowing",  # index = round
    "shadowing_field",  # its map, entity = base station
    "los",  # line of sight; index = round
    "los_field",  # its map, entity = base station
    "ricean_k",  # index = round
    "ricean_k_field",  # its map, entity = base station
    "indoor",  # whether a device is indoors, how deep, behind which wall
    "environment",  # height of what lies on a path
    "wall",  # how much more or less than its kind the wall takes
    "fading_start",  # small-scale fading when a round begins; index = round, as in the next three
    "fading_down",  # its slots during the download
    "fading_gap",  # its jump over the time of computing
    "fading_up",  # its slots during the upload
    "handover_start",  # fading when another base station takes over; index = round
    "fast_down",  # duration of the download, without its slots; index = round
    "fast_up",  # of the upload
    "fault_down",  # which attempts of the download fail; index = round
    "fault_up",  # of the upload
    "direct_los",  # line of sight from a device to the next of a chain; index = round, as in the next two
    "direct_path",  # shadowing and K on that link
    "direct_start",  # its small-scale fading when the device's part begins
    "dataset",  # what a dataset draws; entity = its name, index = owner
    "partition",  # which device holds which samples
    "data_share",  # which of these it keeps; entity = device
    "test_partition",  # and which test samples are its own
    "straggler",  # whether a device does a part of its work, and which; index = round
    "batches",  # order of a device's samples; index = round
    "augmentation",  # where its images are cropped and which are mirrored; index = round
    "dropout",  # its masks; index = round
    "poll",  # the mini-batch on which a candidate computes its loss; index = round
    "codec",  # random rounding and places of an upload; index = round
    "contributions",  # orders in which participants are counted in; index = round
    "init",  # the initial model
]

Words = npt.NDArray[np.uint64]  # 32-bit words, held in 64 bits so that products do not overflow

_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def philox4x32(counter: Words, key: tuple[int, int]) -> Words:
    """Philox4x32-10 (Salmon et al. 2011, section 5.3).

    Args:
        counter: [4, ...] 32-bit words.
        key: two 32-bit words.

    Returns:
        [4, ...] random 32-bit words.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        high, low = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0 = (low >> _SHIFT) ^ c1 ^ np.uint64(k0)
        c2 = (high >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c1, c3 = low & _MASK, high & _MASK
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3])


class Streams:
    """All random numbers of one run, by key."""

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self._keys: dict[str, int] = {}

    def apart(self, name: str) -> Streams:
        """Others of the same run, for what happens a second time under the same keys."""
        return Streams(f"{self.seed}/{name}")

    def _key(self, purpose: Purpose) -> int:
        """64 bits that name (seed, purpose)."""
        if purpose not in self._keys:
            self._keys[purpose] = self._hash(purpose)
        return self._keys[purpose]

    def _hash(self, purpose: Purpose) -> int:
        return int.from_bytes(hashlib.blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest(), "little")

    def uniform(self, purpose: Purpose, ids: npt.ArrayLike, index: int = 0, count: int | None = None) -> Floats:
        """Uniforms in the open interval (0, 1), one per id, or `count` per id.

        Args:
            purpose: what the numbers are for.
            ids: [...] non-negative entity numbers.
            index: round, leg or the like; below 2^32.
            count: how many numbers per id; None for one, without an axis of its own.

        Returns:
            [...] or [..., count].
        """
        entity = np.asarray(ids, dtype=np.uint64)
        block = np.arange(((count or 1) + 1) // 2, dtype=np.uint64)
        entity, block = np.broadcast_arrays(entity[..., None], block)
        counter = np.stack([block, np.full_like(block, index), entity & _MASK, entity >> _SHIFT])
        key = self._key(purpose)
        words = philox4x32(counter, (key & 0xFFFFFFFF, key >> 32))
        # 52 bits, centred in their cell: neither 0 nor 1 can come out, so logarithms and quantiles are finite
        bits = ((words[0::2] << _SHIFT) | words[1::2]) >> np.uint64(12)
        values = np.moveaxis((bits.astype(np.float64) + 0.5) * 2.0**-52, 0, -1)
        values = values.reshape(*entity.shape[:-1], 2 * entity.shape[-1])
        return np.asarray(values[..., 0] if count is None else values[..., :count])

    def normal(self, purpose: Purpose, ids: npt.ArrayLike, index: int = 0, count: int | None = None) -> Floats:
        """Standard normals, keyed and shaped as `uniform`."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(purpose, ids, index, count)))

    def generator(self, purpose: Purpose, entity: int = 0, index: int = 0) -> np.random.Generator:
        """A NumPy Generator of its own for (purpose, entity, index), for draws that are no plain array."""
        return np.random.Generator(np.random.Philox(key=[self._key(purpose), entity], counter=[0, 0, index, 0]))

    def sequence(self, purpose: Purpose, entity: int, index: int, attempt: int = 0) -> np.random.Generator:
        """As `generator`, for very many draws: SFC64, which takes two thirds of the time a draw."""
        name = f"{self.seed}/{purpose}/{entity}/{index}/{attempt}"
        seed = _Seed(hashlib.blake2b(name.encode(), digest_size=24).digest())
        return np.random.Generator(np.random.SFC64(seed))  # type: ignore[arg-type]  # any ISeedSequence will do


class _Seed(ISeedSequence):
    """Seed words that are a hash already."""

    def __init__(self, digest: bytes) -> None:
        self.digest = digest

    def generate_state(self, n_words: int, dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """The first words of the hash."""
        return np.frombuffer(self.digest, dtype=np.dtype(dtype).newbyteorder("<"))[:n_words].astype(dtype)
