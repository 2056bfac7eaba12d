"""Keyed randomness: every random number is a function of (seed, purpose, entity, index), never "the next one".

So device 7's shadowing in round 12 is the same number whatever the population, the algorithm, the order of events or
the number of workers. Draws are arrays of uniforms or normals by key, or NumPy generators for permutations, Dirichlet
draws and long fading walks. A new purpose is one more line in `Purpose`.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Philox4x32-10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from channel.innovations import generator_of
from edgefl.core.arrays import Floats

Purpose = Literal[
    "attribute",  # a device's drawn properties; index = which property
    "placement",  # where a device stands at time 0
    "waypoint",  # legs of a random waypoint; index = leg, as in the next one
    "member",  # legs of a member relative to its group
    "heading",  # start and heading of a device at constant velocity
    "gauss_markov",  # start and all updates of a device
    "street",  # start and all turns or destinations of a device
    "selection",  # which devices take part; index = round
    "awaited",  # the devices that the next model waits for; index = round
    "availability",  # whether a device is present; index = round
    "stay",  # how long it is present or away; entity = device and number of the change
    "day",  # its hours of a day; entity = device and day
    "shadowing",  # index = round
    "shadowing_field",  # map of shadowing; entity = base station
    "common_shadowing",  # its part that all base stations share; index = round
    "common_shadowing_field",  # its map
    "los",  # line of sight; index = round
    "los_field",  # map of line of sight; entity = base station
    "ricean_k",  # index = round
    "ricean_k_field",  # map of the K factor; entity = base station
    "indoor",  # whether a device is indoors, how deep, behind which wall
    "environment",  # height of the buildings on a path
    "wall",  # deviation of a wall's loss from that of its kind
    "path_depth",  # how deep in its building a device is, as seen from each base station
    "floor",  # how many floors its building has, and on which of them it is
    "fading_start",  # small-scale fading when a round begins; index = round, as in the next three
    "fading_down",  # its slots during the download
    "fading_gap",  # its jump over the time of computing
    "fading_up",  # its slots during the upload
    "measurement_error",  # of received power; entity = number of the measurement, index = device
    "csi_age",  # by how much the fading has moved on since it was reported to the server; index = round
    "csi_error",  # of what is reported; index = round, or number of the device's report
    "handover_start",  # fading when another base station takes over; index = round
    "fast_down",  # duration of the download, without its slots; index = round
    "fast_up",  # of the upload
    "fast_down_later",  # of its rest, each time the band is divided again; entity = device and attempt
    "fast_up_later",
    "fault_down",  # which attempts of the download fail; index = round
    "fault_up",  # of the upload
    "blocks_down",  # which of its transport blocks are lost; index = round
    "blocks_up",  # of the upload
    "direct_los",  # line of sight from a device to the next of a chain; index = round, as in the next two
    "direct_path",  # shadowing and K on that link
    "direct_start",  # its small-scale fading when the device's part begins
    "link_trace",  # which recorded link a device has, and where that begins
    "background_down",  # other users of a downlink; entity = cell
    "background_up",  # of an uplink
    "dataset",  # what a dataset draws; entity = its name, index = owner
    "validation",  # which training samples are held out before the others are divided
    "partition",  # which device has which samples
    "data_share",  # which of its samples a device keeps; entity = device
    "test_partition",  # which device has which test samples
    "redivision",  # which of the participants' samples each of them gets in a round; index = round
    "drift",  # what a change of the data draws; index = concept
    "drift_devices",  # whose data change; index = change
    "drift_seen",  # which device sees a sample that none holds; entity = 0 for training samples, 1 for test samples
    "gradient",  # which devices find a session's gradient; index = session
    "straggler",  # whether a device does only a part of its work, and how much; index = round
    "computing",  # how much longer or shorter than usual a device's training takes; index = round
    "batches",  # order of a device's samples; index = round
    "augmentation",  # crops and mirrors of its images; index = round
    "dropout",  # masks of a device's training; index = round
    "poll",  # the mini-batch on which a candidate computes its loss; index = round
    "train_accuracy",  # on whose training samples the model is tested; entity = session, index = round
    "measure",  # what a measure from outside draws; entity = session, index = round
    "flower",  # generators of a Flower app; entity = 0 for the ServerApp, then devices; index = message
    "hook",  # what an algorithm's hook draws, see `RunInfo.generator`; entity = 0 or a device, index = round
    "codec",  # random rounding and positions of an upload; index = round
    "contributions",  # orders of adding participants; index = round
    "init",  # the initial model
    "fading_waves",  # angles and phases of the waves from the base station; index = round, as in the next two
    "handover_waves",  # from the one that takes over
    "direct_waves",  # from the next device of a chain
    "fading_blocks",  # a block of fading; entity = device and length of the block, index = base station
    "direct_blocks",  # of a device's fading to the next one of a chain; index = the sender's base station
    "held_out",  # by how much laws miss new numbers; entity = draw, index = checksum of the law's name
    "share",  # a device's weight where shares of a band are drawn: down, then up; index = round
]

Words = npt.NDArray[np.uint64]  # 32-bit words, held in 64 bits so that products do not overflow

# Multipliers and key increments (Weyl sequence) of Philox4x32, from the paper's program.
# Constants are arrays without axes: for a few devices, NumPy takes twice as long with numbers.
_MULTIPLIER_0 = np.array(0xD2511F53, dtype=np.uint64)
_MULTIPLIER_1 = np.array(0xCD9E8D57, dtype=np.uint64)
_WEYL_0 = 0x9E3779B9
_WEYL_1 = 0xBB67AE85
_ROUNDS = 10
_AT_ONCE = 2**15  # entities computed together: more would not fit into a processor's cache
_WORD_BITS = np.array(32, dtype=np.uint64)
_SPARE_BITS = np.array(12, dtype=np.uint64)  # of 64: a float holds 52 and its exponent
_LOW_WORD = np.array(0xFFFFFFFF, dtype=np.uint64)


def philox4x32(counter: Sequence[Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """Return the block of four random words for each counter, by Philox4x32-10 (Salmon et al. 2011, section 5.3).

    Args:
        counter: its four 32-bit words, which broadcast against each other to [...].
        key: two 32-bit words.

    Returns:
        Four arrays [...] of random 32-bit words.
    """
    c0, c1, c2, c3 = counter
    for k0, k1 in _round_keys(key):
        product_0 = c0 * _MULTIPLIER_0
        product_1 = c2 * _MULTIPLIER_1
        c0 = (product_1 >> _WORD_BITS) ^ c1 ^ k0
        c1 = product_1 & _LOW_WORD
        c2 = (product_0 >> _WORD_BITS) ^ c3 ^ k1
        c3 = product_0 & _LOW_WORD
    return c0, c1, c2, c3


@lru_cache(maxsize=1024)
def _round_keys(key: tuple[int, int]) -> list[tuple[Words, Words]]:
    keys = []
    k0, k1 = key
    for _ in range(_ROUNDS):
        keys.append((np.array(k0, dtype=np.uint64), np.array(k1, dtype=np.uint64)))
        k0 = (k0 + _WEYL_0) & 0xFFFFFFFF
        k1 = (k1 + _WEYL_1) & 0xFFFFFFFF
    return keys


class Streams:
    """All random numbers of one run, by key.

    Args:
        seed: the run's seed.
        whole: the run's main streams, if these are additional ones.
    """

    def __init__(self, seed: int | str, whole: Streams | None = None) -> None:
        self.seed = seed
        self.whole = whole or self
        self._keys: dict[str, int] = {}  # by purpose; hashing takes longer than a small draw

    def apart(self, name: str) -> Streams:
        """Return additional streams of the same run, for draws that would have the same keys as others."""
        return Streams(f"{self.seed}/{name}", self.whole)

    def _key(self, purpose: Purpose) -> int:
        """Return 64 bits that stand for (seed, purpose)."""
        if purpose not in self._keys:
            name = f"{self.seed}/{purpose}"
            digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
            self._keys[purpose] = int.from_bytes(digest, "little")
        return self._keys[purpose]

    def uniform(self, purpose: Purpose, ids: npt.ArrayLike, index: int = 0, count: int | None = None) -> Floats:
        """Return uniforms in the open interval (0, 1), one for each id, or `count` for each.

        Args:
            purpose: what the numbers are for.
            ids: [...] non-negative entity numbers.
            index: round, leg or the like; below 2^32.
            count: how many numbers for each id; None: one, without an axis.

        Returns:
            [...] or [..., count].
        """
        entity = np.asarray(ids, dtype=np.uint64)
        if entity.size <= _AT_ONCE:
            return self._uniform(purpose, entity, index, count)
        rows = entity.reshape(-1)
        pieces = [
            self._uniform(purpose, rows[first : first + _AT_ONCE], index, count)
            for first in range(0, rows.size, _AT_ONCE)
        ]
        values = np.concatenate(pieces)
        return values.reshape(*entity.shape, *values.shape[1:])

    def _uniform(self, purpose: Purpose, entity: Words, index: int, count: int | None) -> Floats:
        part = np.asarray(index, dtype=np.uint64)
        low = entity & _LOW_WORD
        high = entity >> _WORD_BITS
        if count is None:
            first, _second = self._pairs(purpose, (np.zeros_like(part), part, low, high))
            return _open_unit(first)
        # A block of Philox gives four words, which make two numbers.
        blocks = np.arange((count + 1) // 2, dtype=np.uint64)
        pairs = self._pairs(purpose, (blocks, part, low[..., None], high[..., None]))
        values = _open_unit(np.stack(pairs, axis=-1))
        return values.reshape(*entity.shape, 2 * len(blocks))[..., :count]

    def normal(self, purpose: Purpose, ids: npt.ArrayLike, index: int = 0, count: int | None = None) -> Floats:
        """Return standard normals, keyed and shaped as those of `uniform`."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(purpose, ids, index, count)))

    def normal_at(self, purpose: Purpose, ids: npt.ArrayLike, index: npt.ArrayLike, position: npt.ArrayLike) -> Floats:
        """Return single standard normals from any place of the sequences that `normal` gives.

        Args:
            purpose: what the numbers are for.
            ids: [...] non-negative entity numbers.
            index: [...] rounds, legs or the like; below 2^32.
            position: [...] places in the sequences, from 0; below 2^33.

        Returns:
            [...], the broadcast shape of the arguments.
        """
        from scipy.special import ndtri

        arguments = (ids, index, position)
        entity, part, place = np.broadcast_arrays(*(np.asarray(argument, dtype=np.uint64) for argument in arguments))
        counter = (place >> np.uint64(1), part, entity & _LOW_WORD, entity >> _WORD_BITS)
        first, second = self._pairs(purpose, counter)
        return np.asarray(ndtri(_open_unit(np.where(place & np.uint64(1), second, first))))

    def _pairs(self, purpose: Purpose, counter: Sequence[Words]) -> tuple[Words, Words]:
        """Return two numbers of 64 random bits [...] for each counter, whose four words broadcast to [...]."""
        key = self._key(purpose)
        c0, c1, c2, c3 = philox4x32(counter, (key & 0xFFFFFFFF, key >> 32))
        return (c0 << _WORD_BITS) | c1, (c2 << _WORD_BITS) | c3

    def generator(self, purpose: Purpose, entity: int = 0, index: int = 0) -> np.random.Generator:
        """Return a NumPy generator for (purpose, entity, index), for draws other than plain arrays."""
        philox = np.random.Philox(_Key(self._key(purpose), entity), counter=[0, 0, index, 0])  # type: ignore[arg-type]
        return np.random.Generator(philox)

    def sequence(self, purpose: Purpose, entity: int, index: int, attempt: int = 0) -> np.random.Generator:
        """Return a generator for very many draws: SFC64 takes two thirds of the time of Philox, see `generator`."""
        return generator_of(self.sequence_seed(purpose, entity, index, attempt))

    def sequence_seed(self, purpose: Purpose, entity: int, index: int, attempt: int = 0) -> bytes:
        """Return the seed of `sequence`, three words of 64 bits (little-endian)."""
        name = f"{self.seed}/{purpose}/{entity}/{index}/{attempt}"
        return hashlib.blake2b(name.encode(), digest_size=24).digest()


def _open_unit(words: Words) -> Floats:
    """Return numbers in (0, 1) from 64 random bits each."""
    # 52 bits, centred in their cell: never 0 or 1, so logarithms and quantiles are finite.
    return np.asarray(((words >> _SPARE_BITS).astype(np.float64) + 0.5) * 2.0**-52)


class _Key(ISeedSequence):
    """The two words of Philox's key. With the argument `key` NumPy takes three times as long, as it gathers entropy."""

    def __init__(self, purpose: int, entity: int) -> None:
        # NumPy turns numbers from 2^63 on into floats beside smaller ones, and so merges neighbouring keys. That does
        # no harm, and this keeps its draws.
        word = purpose
        if purpose >= 2**63:
            word = int(float(purpose)) % 2**64
        self.words = (word, entity)

    def generate_state(self, n_words: int, dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """Return the key."""
        return np.array(self.words[:n_words], dtype=dtype)
