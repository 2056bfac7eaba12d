"""The samples on the training device: kept as they are stored, normalised and augmented when a batch is taken."""

import warnings

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.arrays import Floats, Ints
from edgefl.learning.data_section import Augmentation
from edgefl.learning.datasets.base import counted_labels


class Samples:
    """Samples and labels of one set.

    Bytes (uint8) stay bytes: a fourth of the memory, and of the traffic when a batch is gathered. Token ids (int64) are
    returned as they are. Floating-point samples are normalised once, in one copy; if nothing is to be done, they stay
    where they are, which may be a file that is mapped into memory.

    Args:
        x: [n, ...] as stored.
        y: [n] labels, [n, ...] those of tokens or pixels, or [n, k] numbers.
        mean: of normalisation, in the units of x; one for all, or broadcastable to a sample ([channels, 1, 1]).
        std: of normalisation, in the same form.
        device: where they are kept.
        dtype: of the samples that `batch` returns.
        augmentation: random crops and flips of images, or None.
        weight: [n] of each sample in its mini-batch's mean loss; None: all alike.
    """

    def __init__(
        self,
        *,
        x: npt.NDArray[np.generic],
        y: Ints,
        mean: float | Floats,
        std: float | Floats,
        device: str,
        dtype: torch.dtype,
        augmentation: Augmentation | None = None,
        weight: Floats | None = None,
    ) -> None:
        def on_device(value: float | Floats) -> Tensor | float:
            if isinstance(value, float):
                return value
            return torch.from_numpy(value).to(device, dtype)

        # on a CPU these share the arrays' memory: forked workers and all cohorts read the same copy
        self.x = _shared(x).to(device)
        self.y = _shared(y).to(device)
        self.counted = counted_labels(y)  # [n] labels of each sample that count; None: one each
        self.weight: Floats | Ints | None = self.counted  # [n] of each sample in its mini-batch's mean loss, or None
        if weight is not None:
            self.weight = weight if self.counted is None else weight * self.counted
        self.shape = self.x.shape[1:]
        self.dtype = dtype
        self.augmentation = augmentation
        # of bytes, as x / std - mean / std: a product and a sum, each in place
        self._scale = on_device(1.0 / std)
        self._shift = on_device(-mean / std)
        is_plain = isinstance(mean, float) and isinstance(std, float) and mean == 0.0 and std == 1.0
        if self.x.is_floating_point() and is_plain:
            self.x = self.x.to(dtype).contiguous()
        elif self.x.is_floating_point():
            self.x = self.x.to(dtype, copy=True).sub_(on_device(mean)).div_(on_device(std)).contiguous()

    def __len__(self) -> int:
        return len(self.y)

    def batch(self, rows: Tensor, draws: Tensor | None = None) -> Tensor:
        """Return the samples [..., *shape] of rows [...] for the network; `draws` [..., 3] place crops and flips."""
        if draws is None or self.augmentation is None:
            # gathered first, then normalised: the whole set in floats would take four times the memory
            picked = self._normalised(self.x.index_select(0, rows.flatten()))
        else:
            picked = self._augmented(rows.flatten(), draws.flatten(0, -2), self.augmentation)
        return picked.view(*rows.shape, *self.shape)

    def labels(self, rows: Tensor) -> Tensor:
        """Return the labels [..., *] of rows [...], or the numbers [..., k]."""
        return self.y.index_select(0, rows.flatten()).view(*rows.shape, *self.y.shape[1:])

    def part(self, begin: int, end: int) -> Tensor:
        """Return the samples [begin, end), ready for the network, which may overwrite them."""
        stored = self.x[begin:end]
        if stored.dtype != torch.uint8:
            stored = stored.clone()  # of the user's memory, or of a file that cannot be written
        return self._normalised(stored)

    def _normalised(self, x: Tensor) -> Tensor:
        if x.dtype != torch.uint8:
            return x
        return x.to(self.dtype).mul_(self._scale).add_(self._shift)

    def _augmented(self, rows: Tensor, draws: Tensor, augmentation: Augmentation) -> Tensor:
        """Return each image cut out of its padded self at its offset, mirrored if its draw says so, and normalised.

        One gather reads the pixels from the stored images, without padded copies.
        """
        height, width = self.shape[-2:]
        padding = augmentation.crop_padding
        device = rows.device
        down, right, flip = draws.unbind(-1)
        y = down[:, None] + torch.arange(height, device=device) - padding  # [n, H] in the stored image
        x = right[:, None] + torch.arange(width, device=device) - padding
        x = torch.where(flip[:, None] > 0, x.flip(1), x)
        row_inside = (y >= 0) & (y < height)
        column_inside = (x >= 0) & (x < width)
        inside = row_inside[:, :, None] & column_inside[:, None, :]  # [n, H, W]
        images = self.x.view(len(self.x), -1, height, width)
        stored = images[
            rows[:, None, None, None],
            torch.arange(images.shape[1], device=device)[:, None, None],
            y.clamp(0, height - 1)[:, None, :, None],
            x.clamp(0, width - 1)[:, None, None, :],
        ]
        cut = self._normalised(stored)
        # black is pixel 0, whose normalised value is the shift; the mean of all pixels is 0 after normalisation
        fill: Tensor | float = 0.0
        if augmentation.fill == "black":
            fill = self._shift
        return torch.where(inside[:, None], cut, torch.as_tensor(fill, dtype=cut.dtype, device=cut.device))


def _shared(array: npt.NDArray[np.generic]) -> Tensor:
    with warnings.catch_warnings():
        # Torch warns that a read-only array could be written through the tensor, which nothing here does.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        return torch.from_numpy(array)


def augmentation_draws(count: tuple[int, ...], augmentation: Augmentation, rng: np.random.Generator) -> Ints:
    """Return offsets down and right from 0 to twice the padding, and 1 to mirror: [*count, 3].

    The offset that equals the padding leaves the image in its place.
    """
    padding = augmentation.crop_padding
    limits = [2 * padding + 1, 2 * padding + 1, 1 + augmentation.flip]
    draws = rng.integers(0, limits, (*count, 3))
    if augmentation.crop_probability < 1:
        is_whole = rng.random(count) >= augmentation.crop_probability
        draws[is_whole, :2] = padding
    return draws
