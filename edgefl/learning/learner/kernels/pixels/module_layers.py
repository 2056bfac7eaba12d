"""The layers of a torch module as layers of pixels; none if anything in the module computes something else."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from edgefl.learning.learner.kernels import layers as dense
from edgefl.learning.learner.kernels.layers import ManualLayer
from edgefl.learning.learner.kernels.patches import Window
from edgefl.learning.learner.kernels.pixels.layers import (
    Convolution,
    FromPixels,
    GlobalMean,
    MaxPool,
    Norm,
    PixelDropout,
    Rectifier,
    Residual,
    Stack,
    ToPixels,
)
from edgefl.learning.learner.kernels.pixels.pooling import MOST_TAPS
from edgefl.learning.learner.kernels.pixels.tiles import LEAST, Arithmetic
from edgefl.learning.learner.networks.dropout import dropout_layers
from edgefl.learning.learner.networks.module_state import has_own_calls

NORMS = (nn.GroupNorm, nn.BatchNorm2d)


class _Step(NamedTuple):
    """A part, with the rectifier behind it if `relu`."""

    part: nn.Module
    relu: bool


class OtherLayerError(Exception):
    """A module is none of the known layers, or stands where it is not known."""


def layers_of_pixels(module: nn.Module, arithmetic: Arithmetic) -> list[ManualLayer]:
    """Return the layers of a module with convolutions; an empty list if it is not made only of known layers."""
    try:
        parts = list(_parts(module))
        _check_parameters(module, parts)
        return _Translation(module, arithmetic).layers(parts)
    except OtherLayerError:
        return []


def _parts(module: Any) -> Iterator[nn.Module]:
    if has_own_calls(module):
        raise OtherLayerError
    if type(module) is nn.Sequential:
        for part in module:
            yield from _parts(part)
    elif type(module) is _torchvision("ResNet"):
        stem = (module.conv1, module.bn1, module.relu, module.maxpool)
        stages = (module.layer1, module.layer2, module.layer3, module.layer4)
        for part in (*stem, *stages, module.avgpool, nn.Flatten(), module.fc):
            yield from _parts(part)
    elif type(module) is not nn.Identity and not (type(module) is nn.Dropout and module.p == 0):
        yield module


def _torchvision(name: str) -> type[Any] | None:
    """Return a class of torchvision's residual networks; None if no module can be one, as none was imported."""
    resnet = sys.modules.get("torchvision.models.resnet")
    return getattr(resnet, name, None)


def _check_parameters(module: nn.Module, parts: Sequence[nn.Module]) -> None:
    """Check that the parts have all parameters and buffers of the module, each once and in its order."""
    own = [id(tensor) for tensor in _tensors(module)]
    walked = [id(tensor) for part in parts for tensor in _tensors(part)]
    is_complete = own == walked and len(set(walked)) == len(walked)
    if not is_complete or not all(parameter.requires_grad for parameter in module.parameters()):
        raise OtherLayerError


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    yield from module.parameters(recurse=False)
    yield from module.buffers(recurse=False)
    for child in module.children():
        yield from _tensors(child)


class _Translation:
    def __init__(self, module: nn.Module, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._dropouts = {id(layer): number for number, layer in enumerate(dropout_layers(module))}
        self._makers: dict[type[nn.Module] | None, Callable[[Any], ManualLayer]] = {
            nn.ReLU: lambda _: Rectifier(),
            nn.MaxPool2d: self._pool,
            nn.AdaptiveAvgPool2d: self._mean,
            nn.Dropout: self._dropout,
            _torchvision("BasicBlock"): self._block,
        }

    def layers(self, parts: Sequence[nn.Module]) -> list[ManualLayer]:
        """Return the layers: some before the first convolution, those of pixels, and dense ones."""
        first = next((number for number, part in enumerate(parts) if isinstance(part, nn.Conv2d)), None)
        if first is None:
            raise OtherLayerError
        after = next((number for number, part in enumerate(parts) if isinstance(part, nn.Flatten)), len(parts))
        images = parts[first:after]
        if after < first or after == len(parts) or not _is_plain_flatten(parts[after]):
            raise OtherLayerError
        return [
            *(self._entrance(part) for part in parts[:first]),
            ToPixels(self._arithmetic.dtype),
            *self._of_pixels(images, first=True),
            FromPixels(),
            *(self._dense(part) for part in parts[after + 1 :]),
        ]

    def _entrance(self, part: nn.Module) -> ManualLayer:
        if not isinstance(part, nn.Unflatten):
            raise OtherLayerError
        return self._dense(part)

    def _dense(self, part: nn.Module) -> ManualLayer:
        if type(part) is nn.Dropout:
            return dense.Dropout(part.p, self._dropout_number(part))
        layer = dense.layer_of(part, None)
        if layer is None:
            raise OtherLayerError
        return layer

    def _of_pixels(self, parts: Sequence[nn.Module], *, first: bool) -> list[ManualLayer]:
        """Return the layers of pixels of some parts; `first` if nothing learns before them."""
        steps: list[_Step] = []
        for part in parts:
            before = steps[-1].part if steps else None
            if type(part) is nn.ReLU and isinstance(before, NORMS):
                steps[-1] = _Step(before, relu=True)
            elif type(part) is nn.MaxPool2d and type(before) is nn.ReLU:
                # pooled first: the same result from a fourth of the numbers
                steps.insert(-1, _Step(part, relu=False))
            else:
                steps.append(_Step(part, relu=False))
        return [
            self._layer(step.part, relu=step.relu, first=first and number == 0) for number, step in enumerate(steps)
        ]

    def _layer(self, part: nn.Module, *, relu: bool, first: bool) -> ManualLayer:
        if has_own_calls(part):
            raise OtherLayerError
        if isinstance(part, NORMS):
            return self._norm(part, relu=relu)
        if type(part) is nn.Conv2d:
            return self._convolution(part, by_patches=first and part.in_channels < LEAST)
        make = self._makers.get(type(part))
        if make is None:  # a subclass may compute something else
            raise OtherLayerError
        return make(part)

    def _convolution(self, part: nn.Conv2d, *, by_patches: bool) -> Convolution:
        if part.groups != 1 or part.padding_mode != "zeros":
            raise OtherLayerError
        return Convolution(part, _window(part), self._arithmetic, by_patches=by_patches)

    def _norm(self, part: nn.GroupNorm | nn.BatchNorm2d, *, relu: bool) -> Norm:
        is_known = type(part) in NORMS and part.affine
        if isinstance(part, nn.BatchNorm2d):
            is_known = is_known and part.track_running_stats and part.momentum is not None
        if not is_known:
            raise OtherLayerError
        return Norm(part, relu=relu)

    def _pool(self, part: nn.MaxPool2d) -> MaxPool:
        window = _window(part)
        if part.ceil_mode or part.return_indices or window.size > MOST_TAPS:
            raise OtherLayerError
        return MaxPool(window)

    def _mean(self, part: nn.AdaptiveAvgPool2d) -> GlobalMean:
        if part.output_size not in {1, (1, 1)}:
            raise OtherLayerError
        return GlobalMean()

    def _dropout(self, part: nn.Dropout) -> PixelDropout:
        return PixelDropout(part.p, self._dropout_number(part))

    def _block(self, block: Any) -> Residual:
        if type(block.relu) is not nn.ReLU:
            raise OtherLayerError
        body = [part for own in (block.conv1, block.bn1, block.relu, block.conv2, block.bn2) for part in _parts(own)]
        shortcut: list[nn.Module] = []
        if block.downsample is not None:
            shortcut = list(_parts(block.downsample))
        end: Norm | None = None
        last = body[-1]
        if isinstance(last, NORMS):
            end = self._norm(last, relu=True)
            body.pop()
        inner = Stack(self._of_pixels(body, first=False))
        return Residual(inner, end, Stack(self._of_pixels(shortcut, first=False)))

    def _dropout_number(self, part: nn.Dropout) -> int:
        if id(part) not in self._dropouts:
            raise OtherLayerError
        return self._dropouts[id(part)]


def _is_plain_flatten(part: nn.Module) -> bool:
    return type(part) is nn.Flatten and part.start_dim == 1 and part.end_dim == -1


def _window(part: nn.Conv2d | nn.MaxPool2d) -> Window:
    if isinstance(part.padding, str):
        raise OtherLayerError
    sizes = (part.kernel_size, part.stride, part.padding, part.dilation)
    window = Window(*(dense.pair(size) for size in sizes))
    if window.dilation != (1, 1):
        raise OtherLayerError
    return window
