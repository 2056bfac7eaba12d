"""Energy that a terminal spends on the radio."""

import numpy as np
from numpy.typing import ArrayLike

from channel._checks import Floats, non_negative


def communication_j(rx_power_w: ArrayLike, download_s: ArrayLike, tx_power_w: ArrayLike, upload_s: ArrayLike) -> Floats:
    """Energy of a terminal for a download and an upload, P_rx T_DL + P_tx T_UL (paper, eq. 42).

    Args:
        rx_power_w: power of its receiving circuits [W].
        download_s: duration of the download [s].
        tx_power_w: power it transmits with [W].
        upload_s: duration of the upload [s].

    Returns:
        Energy [J], the broadcast shape of the arguments.

    Raises:
        ValueError: a negative power or duration, NaN.
    """
    receiving_j = non_negative("rx_power_w", rx_power_w) * non_negative("download_s", download_s)
    return np.asarray(receiving_j + non_negative("tx_power_w", tx_power_w) * non_negative("upload_s", upload_s))
