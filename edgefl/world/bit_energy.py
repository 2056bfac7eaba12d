"""The energy of bits: what a radio draws for what it carries, besides its powers of receiving and sending."""

from edgefl.core.arrays import Floats

BITS_PER_MBIT = 1e6


def bits_j(bits: Floats | float, j_per_mbit: Floats | float) -> Floats | float:
    """Return the energy [n] of `bits` [n] at `j_per_mbit` [n] joules a megabit [J].

    Joules a megabit are watts for each megabit a second: the slope b of a radio's power a + b R at rate R. So over any
    transfer it draws a T + b times the megabits carried, however the rate varies.

    Source: Narayanan et al., ACM SIGCOMM 2021, section 4 (power by throughput, in each direction).
    """
    return j_per_mbit * (bits / BITS_PER_MBIT)
