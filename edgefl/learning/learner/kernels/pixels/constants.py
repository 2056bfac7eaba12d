"""What kernels know of images and windows when they are compiled."""

from torch import Tensor

from edgefl.learning.learner.kernels.patches import Window

# A product and the sum behind it round once. Triton's default differs between versions, and with it the bytes.
ROUNDING = {"enable_fp_fusion": True}


def constants(x: Tensor, y: Tensor, window: Window) -> dict[str, int]:
    """Return the sides of images x [K, B, H, W, C] and of what windows make of them, y, by the kernels' names."""
    return {
        "H": x.shape[2],
        "W": x.shape[3],
        "OH": y.shape[2],
        "OW": y.shape[3],
        "KH": window.kernel[0],
        "KW": window.kernel[1],
        "DOWN": window.stride[0],
        "RIGHT": window.stride[1],
        "TOP": window.padding[0],
        "LEFT": window.padding[1],
    }
