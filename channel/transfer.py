"""Transmission time: how many slots of a fading channel a payload takes (dynamic-devices paper, eq. 26 and 41).

    `N = min { n : sum_{i <= n} R[i] tau >= Z }`,   `T = N tau`,   `R[i] = W e(s |g[i]|^2)`

with the payload `Z` [bit], the slot `tau` [s], the bandwidth `W` [Hz], the spectral efficiency `e`, the mean SNR `s`
and the fading gain `g` of slot `i`. Two engines draw from one distribution: `slots` (with `walk` and `walk_until`, in
`channel.slot_walk`) goes from slot to slot, `fast` (in `channel.first_passage`) draws durations without the slots.
"""

from channel._transfers import MAX_SLOTS, TransferTooLong
from channel.first_passage import fast
from channel.innovations import Innovations, innovations_of, innovations_of_seeds
from channel.slot_walk import Walk, slots, walk, walk_until

__all__ = [
    "MAX_SLOTS",
    "Innovations",
    "TransferTooLong",
    "Walk",
    "fast",
    "innovations_of",
    "innovations_of_seeds",
    "slots",
    "walk",
    "walk_until",
]
