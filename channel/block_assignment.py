"""The assignment of resource blocks to devices with the largest sum of worths, each block to one device at most."""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Ints
from channel._checks import non_negative


def best_blocks(worth: ArrayLike) -> Ints:
    """Return the assignment of blocks to devices with the largest sum of worths; -1: the device gets none.

    The matching of Chen et al., IEEE Transactions on Wireless Communications 20(1), 2021, section IV, where the worth
    of a block is the device's samples times the probability that its packet arrives over that block, and 0 where limits
    of delay or energy are not met. It is solved exactly (the Hungarian method; Kuhn 1955).

    Args:
        worth: of each block for each device, not negative [n, blocks]; 0 means that the device cannot use the block.

    Returns:
        Numbers of blocks [n], each at most once; -1 where a device can use no block, or others make better use of them.

    Example:
        The first device could use the first block better, but then the second would have none.

        >>> best_blocks([[3.0, 2.0], [2.0, 0.0], [0.0, 1.0]])
        array([ 1,  0, -1])
    """
    from scipy.optimize import linear_sum_assignment  # takes longer to import than all of channel

    table = non_negative("worth", worth)
    if table.ndim != 2:
        raise ValueError(f"worth of shape {table.shape} must have a row a device and a column a block")
    rows, columns = linear_sum_assignment(table, maximize=True)
    used = table[rows, columns] > 0
    block = np.full(len(table), -1, dtype=np.int64)
    block[rows[used]] = columns[used]
    return block
