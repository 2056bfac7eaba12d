"""A law near the one that is shipped, for logs of few networks: they cannot tell all of its terms apart.

A board computes as a Raspberry Pi 4 does (the preset raspberry_pi_4, fitted to 24 networks), at another speed; each
term may deviate from that by a factor, within a lognormal distribution, as far as the log asks for it.
"""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats

BOARD = "raspberry_pi_4"
DEVIATION = 0.7  # of the logarithm of a term's factor: twice or half as long is usual
NOISE = 0.05  # of a measured time, relative to it


def shipped_coefficients(terms: Sequence[str]) -> Floats:
    """Return the seconds [terms] per unit of each term of the law that is shipped."""
    from edgefl.scenario import presets  # late: few logs need it, and it imports all sections

    law = presets.read("devices", BOARD)["compute"]
    seconds = {
        "speed": 1 / float(law["convolution_flops_per_s"]),
        "matmul": 1 / float(law["matmul_flops_per_s"]),
        "grouped": 1 / float(law["grouped_flops_per_s"]),
        "bandwidth": 1 / float(law["bandwidth_bytes_per_s"]),
        "group_s": float(law["group_s"]),
        "step_s": float(law["step_s"]),
    }
    return np.array([seconds[term] for term in terms])


def near_shipped(terms: Sequence[str], features: Floats, measured_s: Floats) -> Floats:
    """Return the coefficients [terms] near those that are shipped, for features [n, terms] and seconds [n] of steps.

    They are the most probable ones, given how far terms deviate from board to board, and how exact a time is.
    """
    from scipy.optimize import least_squares

    shipped = features * shipped_coefficients(terms)  # [n, terms] seconds

    def misses(logarithms: Floats) -> Floats:
        """Return how far predictions [n] and factors [terms] are off, each over its deviation."""
        one, factors = logarithms[0], logarithms[1:]
        predicted_s = shipped @ np.exp(one + factors)
        return np.concatenate([(predicted_s / measured_s - 1) / NOISE, factors / DEVIATION])

    start = np.zeros(1 + len(terms))
    start[0] = np.median(np.log(measured_s / shipped.sum(axis=1)))
    found = least_squares(misses, start).x
    return np.asarray(shipped_coefficients(terms) * np.exp(found[0] + found[1:]))
