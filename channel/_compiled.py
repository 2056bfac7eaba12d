"""The walk over slots in compiled loops, where numba is installed (`edgefl[compiled]`): three times as fast.

Draws and gains have the same bits as with NumPy and SciPy. SNRs are multiplied up before a logarithm is taken, so sums
of bits differ in their last digits, and a slot count only where a payload ends on the border of a slot to 1e-12.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

GROUP = 8  # slots under one logarithm: SNRs up to 1e38 do not overflow

Kernel = Callable[..., None]


@cache
def walk() -> Kernel | None:
    """`_walk` compiled; None without numba."""
    return _compile(_walk)


@cache
def normals() -> Kernel | None:
    """`_normals` compiled; None without numba."""
    return _compile(_normals)


def _compile(function: Kernel) -> Kernel | None:
    if find_spec("numba") is None:
        return None
    from numba import njit

    compiled: Kernel = njit(cache=True, error_model="numpy")(function)
    return compiled


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back: numba asks a generator for its pointers and does not notice a KeyboardInterrupt on the way."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _normals(generator: Any, out: Any) -> None:
    """Fill a vector with the generator's next standard normals, times sqrt(1/2)."""
    scale = math.sqrt(0.5)
    for place in range(len(out)):
        out[place] = generator.standard_normal() * scale


def _walk(
    draws: Any,
    correlation: Any,
    line: Any,
    scatter: Any,
    snr: Any,
    slot_hz_s: Any,
    payload: Any,
    hold: Any,
    limit: Any,
    shannon: tuple[float, float, float],
    gain: Any,
    sent: Any,
    used: Any,
) -> None:
    """Walk each row over its draws [r, c] until its payload is sent or its limit is reached.

    Args, all [r]: see `transfer._Rows`; `shannon` is (attenuation, min_snr, max_bps_hz) of `rate.Shannon`; `gain`,
    `sent` and `used` are read and overwritten.
    """
    attenuation, min_snr, max_bps_hz = shannon
    cap_snr = math.expm1(max_bps_hz / attenuation * math.log(2.0))
    columns = draws.shape[1]
    for row in range(draws.shape[0]):
        rho, a, b, ratio = correlation[row], line[row], scatter[row], snr[row]
        share, scale = math.sqrt((1.0 - rho) * (1.0 + rho)), attenuation * slot_hz_s[row] / math.log(2.0)
        most = max_bps_hz * slot_hz_s[row]
        real, imag = gain[row].real, gain[row].imag
        done, slots, column = sent[row], used[row], 0
        while column < columns and done < payload[row] and slots < limit[row]:
            # A group begins at a multiple of its length, wherever the chunk does: sums do not depend on the chunks.
            room = min(columns - column, limit[row] - slots)
            if hold[row] == 1 and slots % GROUP == 0 and room >= GROUP:
                here, there, excess, capped = real, imag, 0.0, 0.0
                for ahead in range(column, column + GROUP):
                    here = share * draws[row, ahead].real + rho * here
                    there = share * draws[row, ahead].imag + rho * there
                    power = ((a + b * here) * (a + b * here) + (b * there) * (b * there)) * ratio
                    if power >= cap_snr:
                        capped += most
                    elif power >= min_snr:
                        excess = excess * (1.0 + power) + power  # the product of all 1 + power, less 1
                nats = math.log(1.0 + excess) if excess > 1.0 else math.log1p(excess)  # which is slower
                bits = scale * nats + capped
                if done + bits < payload[row]:
                    real, imag, done = here, there, done + bits
                    slots, column = slots + GROUP, column + GROUP
                    continue
            real = share * draws[row, column].real + rho * real  # the payload ends in this group: slot by slot
            imag = share * draws[row, column].imag + rho * imag
            power = ((a + b * real) * (a + b * real) + (b * imag) * (b * imag)) * ratio
            bits = 0.0 if power < min_snr else most if power >= cap_snr else scale * math.log1p(power)
            count, missing = min(hold[row], limit[row] - slots), payload[row] - done
            if bits * count >= missing:
                count, done = min(count, max(1, math.ceil(missing / bits))), payload[row]
            else:
                done += bits * count
            slots, column = slots + count, column + 1
        gain[row] = complex(real, imag)
        sent[row], used[row] = done, slots
