"""The fading and the walk over slots in compiled loops, if numba is installed.

Draws and gains have the same bits as with NumPy and SciPy. One logarithm is taken of the product of several SNRs, so
sums of bits differ in their last digits, and a slot count only where a payload ends within 1e-12 of a slot's border.
"""

import math
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

GROUP_SLOTS = 8  # slots under one logarithm: the product of 8 SNRs of up to 1e38 does not overflow

Kernel = Callable[..., None]


@cache
def walk() -> Kernel | None:
    """Return `_walk` compiled; None without numba."""
    return _compiled(_walk)


@cache
def sfc64() -> Any:
    """Return the module `_sfc64`, a compiled generator; None without numba."""
    if find_spec("numba") is None:
        return None
    from channel import _sfc64  # late: it imports numba

    return _sfc64


@cache
def filtered() -> Kernel | None:
    """Return `_filtered` compiled; None without numba."""
    return _compiled(_filtered)


def _compiled(function: Kernel) -> Kernel | None:
    if find_spec("numba") is None:
        return None
    from channel import _compiling  # late: it imports numba

    return _compiling.compiled(function)


def _filtered(noise: Any, correlation: Any, innovation_share: Any, before: Any, gain: Any) -> None:
    """Fill `gain` [r, c] with the process of `fading.gauss_markov`: the filter's products and sums, in its order.

    Args:
        noise: [r, c] innovations.
        correlation: [r] rho.
        innovation_share: [r] amplitude of the innovations in a slot.
        before: [r] gains in the slot before the first.
        gain: [r, c] to fill; may be `noise`.
    """
    for row in range(noise.shape[0]):
        rho = correlation[row]
        share = innovation_share[row]
        real = before[row].real
        imag = before[row].imag
        for column in range(noise.shape[1]):
            real = share * noise[row, column].real + rho * real
            imag = share * noise[row, column].imag + rho * imag
            gain[row, column] = complex(real, imag)


def _walk(  # noqa: C901, PLR0915 - numba compiles one function
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

    One function of plain loops, as numba would compile helpers separately. The bits of gains depend on the order of
    each product below.

    Args, all [r]: see `slot_walk._Transfers`; `shannon` is (attenuation, min_snr, max_bps_hz) of `rate.Shannon`;
    `gain`, `sent` and `used` are read and overwritten.
    """
    attenuation, min_snr, max_bps_hz = shannon
    cap_snr = math.expm1(max_bps_hz / attenuation * math.log(2.0))  # where the cap begins
    columns = draws.shape[1]
    for row in range(draws.shape[0]):
        rho = correlation[row]
        innovation_share = math.sqrt((1.0 - rho) * (1.0 + rho))  # sqrt(1 - rho^2) without cancellation near 1
        line_part = line[row]
        scatter_part = scatter[row]
        mean_snr = snr[row]
        bits_per_nat = attenuation * slot_hz_s[row] / math.log(2.0)
        capped_slot_bits = max_bps_hz * slot_hz_s[row]
        real = gain[row].real
        imag = gain[row].imag
        done = sent[row]
        slots = used[row]
        column = 0
        while column < columns and done < payload[row] and slots < limit[row]:
            # A group of slots under one logarithm: log(1 + a) + log(1 + b) = log((1 + a)(1 + b)).
            # Groups begin at multiples of their length, so that sums do not depend on where chunks begin.
            room = min(columns - column, limit[row] - slots)
            if hold[row] == 1 and slots % GROUP_SLOTS == 0 and room >= GROUP_SLOTS:
                ahead_real = real
                ahead_imag = imag
                excess = 0.0  # the product of all 1 + power, less 1: weak links keep their digits
                capped_bits = 0.0
                for ahead in range(column, column + GROUP_SLOTS):
                    ahead_real = innovation_share * draws[row, ahead].real + rho * ahead_real
                    ahead_imag = innovation_share * draws[row, ahead].imag + rho * ahead_imag
                    in_phase = line_part + scatter_part * ahead_real
                    quadrature = scatter_part * ahead_imag
                    power = (in_phase * in_phase + quadrature * quadrature) * mean_snr
                    if power >= cap_snr:
                        capped_bits += capped_slot_bits
                    elif power >= min_snr:
                        excess = excess * (1.0 + power) + power
                # log1p is exact for weak links, but slower.
                nats = math.log(1.0 + excess) if excess > 1.0 else math.log1p(excess)
                bits = bits_per_nat * nats + capped_bits
                if done + bits < payload[row]:
                    real = ahead_real
                    imag = ahead_imag
                    done = done + bits
                    slots = slots + GROUP_SLOTS
                    column = column + GROUP_SLOTS
                    continue
                # The payload ends inside this group: walk it slot by slot to find where.
            real = innovation_share * draws[row, column].real + rho * real
            imag = innovation_share * draws[row, column].imag + rho * imag
            in_phase = line_part + scatter_part * real
            quadrature = scatter_part * imag
            power = (in_phase * in_phase + quadrature * quadrature) * mean_snr
            if power < min_snr:
                bits = 0.0
            elif power >= cap_snr:
                bits = capped_slot_bits
            else:
                bits = bits_per_nat * math.log1p(power)
            # One draw is a block of `hold` slots of one rate, cut short by the limit or by the end of the payload.
            count = min(hold[row], limit[row] - slots)
            missing = payload[row] - done
            if bits * count >= missing:
                count = min(count, max(1, math.ceil(missing / bits)))
                done = payload[row]  # exactly, so that equality identifies a complete transfer
            else:
                done += bits * count
            slots = slots + count
            column = column + 1
        gain[row] = complex(real, imag)
        sent[row] = done
        used[row] = slots
