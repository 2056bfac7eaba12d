"""The samples on the training device: kept as they are stored, normalised and augmented as a batch is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.arrays import Floats

if TYPE_CHECKING:
    from edgefl.learning.data_section import Augmentation

Draws = npt.NDArray[np.int64]


class Samples:
    """Samples and labels of one set.

    Bytes (uint8) stay bytes: a fourth of the memory, and of the traffic when a batch is gathered. Token ids (int64) are
    handed out as they are. Floating-point samples are normalised once.

    Args:
        x: [n, ...] as stored.
        y: [n] labels.
        mean: of normalisation, in the units of x; one for all, or broadcastable to a sample ([channels, 1, 1]).
        std: of normalisation, likewise.
        device: where to keep them.
        dtype: of what `batch` returns.
        augmentation: random crops and flips of images, or None.
    """

    def __init__(
        self,
        x: npt.NDArray[np.generic],
        y: npt.NDArray[np.int64],
        mean: float | Floats,
        std: float | Floats,
        device: str,
        dtype: torch.dtype,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.x, self.y = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
        self.shape, self.dtype, self.augmentation = self.x.shape[1:], dtype, augmentation
        center, spread, self._shift, self._scale = (
            value if isinstance(value, float) else torch.from_numpy(value).to(device, dtype)
            for value in (mean, std, -mean / std, 1.0 / std)
        )
        if self.x.is_floating_point():
            self.x = ((self.x.to(dtype) - center) / spread).contiguous()

    def __len__(self) -> int:
        return len(self.y)

    def batch(self, rows: Tensor, draws: Tensor | None = None) -> Tensor:
        """The samples [..., *shape] of rows [...], ready for the network; `draws` [..., 3] place crops and flips."""
        if draws is None or self.augmentation is None:
            picked = self._normalised(self.x.index_select(0, rows.flatten()))
        else:
            picked = self._augmented(rows.flatten(), draws.flatten(0, -2), self.augmentation)
        return picked.view(*rows.shape, *self.shape)

    def labels(self, rows: Tensor) -> Tensor:
        """Their labels [...]."""
        return self.y.index_select(0, rows.flatten()).view(rows.shape)

    def part(self, begin: int, end: int) -> Tensor:
        """Samples [begin, end), ready for the network."""
        return self._normalised(self.x[begin:end])

    def _normalised(self, x: Tensor) -> Tensor:
        return x.to(self.dtype).mul_(self._scale).add_(self._shift) if x.dtype == torch.uint8 else x

    def _augmented(self, rows: Tensor, draws: Tensor, augmentation: Augmentation) -> Tensor:
        """Each image cut out of its padded self at its own offset, and mirrored where its draw says so; normalised."""
        (height, width), padding = self.shape[-2:], augmentation.crop_padding
        down, right, flip = draws.unbind(-1)
        y = down[:, None] + torch.arange(height, device=rows.device) - padding  # [n, H] in the stored image
        x = right[:, None] + torch.arange(width, device=rows.device) - padding
        x = torch.where(flip[:, None] > 0, x.flip(1), x)
        inside = ((y >= 0) & (y < height))[:, :, None] & ((x >= 0) & (x < width))[:, None, :]  # [n, H, W]
        images = self.x.view(len(self.x), -1, height, width)
        stored = images[
            rows[:, None, None, None],
            torch.arange(images.shape[1], device=rows.device)[:, None, None],
            y.clamp(0, height - 1)[:, None, :, None],
            x.clamp(0, width - 1)[:, None, None, :],
        ]
        cut = self._normalised(stored)
        fill = self._shift if augmentation.fill == "black" else 0.0
        return torch.where(inside[:, None], cut, torch.as_tensor(fill, dtype=cut.dtype, device=cut.device))


def augmentation_draws(count: tuple[int, ...], augmentation: Augmentation, rng: np.random.Generator) -> Draws:
    """Offsets down and right from 0 to twice the padding, and 1 to mirror, [*count, 3]; in the middle is the image."""
    limits = [2 * augmentation.crop_padding + 1, 2 * augmentation.crop_padding + 1, 1 + augmentation.flip]
    draws = rng.integers(0, limits, (*count, 3))
    if augmentation.crop_probability < 1:
        draws[rng.random(count) >= augmentation.crop_probability, :2] = augmentation.crop_padding
    return draws
