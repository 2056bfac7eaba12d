"""Checks of the user's arrays, from a file, a function or Python."""

import operator
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NoReturn

import numpy as np

from edgefl.core.errors import InputError
from edgefl.learning.datasets.array_forms import NUMBERING
from edgefl.learning.datasets.base import LARGEST, MOST_CLASSES, Array, Arrays, Data, measured, problem

NAMES = ("train_x", "train_y", "test_x", "test_y")
MORE_NAMES = ("classes", "mean", "std", "owner", "test_owner")
CHANNELS = (1, 3)  # gray, colour
MOST_UNUSED = 10  # classes without a sample that pass where half of the classes have none
IN_A_MAPPING = "return a mapping with classes: {}"  # how a function gives the number of classes


def own_data(found: Mapping[str, Any], where: str, giving_classes: str = IN_A_MAPPING) -> Data:
    """Return the dataset that arrays make.

    Bytes are standardised over all training values unless `mean` and `std` are given; floating-point samples are taken
    as they are, and int64 ones are token ids. Images [n, H, W, 1 or 3] get their channels first. Integer labels are
    classes from 0, floating-point ones the numbers of a regression.

    Args:
        found: train_x, train_y, test_x and test_y, and any of `MORE_NAMES`.
        where: begins a message, such as "data.path: data.npz".
        giving_classes: how to give the number of classes, {}, for a message.

    Raises:
        InputError: they are not samples and labels.
    """
    missing = [name for name in NAMES if name not in found]
    if missing:
        _refuse(where, f"lacks {', '.join(missing)}; needed: {', '.join(NAMES)}")
    unknown = [str(name) for name in found if name not in (*NAMES, *MORE_NAMES)]
    if unknown:
        _refuse(where, f"has an unknown {unknown[0]}; known: {', '.join((*NAMES, *MORE_NAMES))}")
    arrays = _checked({name: _array(found[name], name, where) for name in NAMES}, where)
    more: dict[str, Any] = {}
    if arrays["train_x"].dtype == np.uint8:  # the user has chosen the scale of floats
        more = measured(arrays["train_x"])
    for name in ("mean", "std"):
        if found.get(name) is not None:
            more[name] = _statistic(found[name], name, arrays["train_x"], where)
    for name, part in (("owner", "train"), ("test_owner", "test")):
        if found.get(name) is not None:
            more[name] = _owners(found[name], name, len(arrays[f"{part}_y"]), where)
    return Data(**arrays, classes=_classes(arrays, found.get("classes"), where, giving_classes), **more)


def from_data(data: Data, where: str) -> Data:
    """Return a finished `Data` with its arrays checked as a user's are.

    Its samples may have no labels: 0 classes, and label 0 throughout.

    Raises:
        InputError: it does not hold samples and labels.
    """
    given = {field.name: getattr(data, field.name) for field in fields(Data)}
    checked = own_data({name: given[name] for name in (*NAMES, *MORE_NAMES)}, where)
    rest = {name: value for name, value in given.items() if name not in (*NAMES, *MORE_NAMES)}
    own = {name: getattr(checked, name) for name in (*NAMES, *MORE_NAMES)}
    return Data(**own, **rest)


def channels_first(x: Array) -> Array:
    """Return images [n, H, W, 1 or 3] as [n, 1 or 3, H, W]; anything else unchanged."""
    # [n, 3, H, W] has its channels first already, also where W is 3.
    if x.ndim != 4 or x.shape[-1] not in CHANNELS or x.shape[1] in CHANNELS:
        return x
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def _checked(arrays: Mapping[str, Array], where: str) -> Arrays:
    """Return the four arrays in the types that training wants."""
    checked = dict(arrays)
    for part in ("train", "test"):
        x = channels_first(arrays[f"{part}_x"])
        y = arrays[f"{part}_y"]
        if np.issubdtype(y.dtype, np.floating):
            reason = problem(x, np.zeros(x.shape[:1], dtype=np.int64)) or _problem_of_numbers(x, y)
            y = y.astype(np.float32, copy=False)
        else:
            reason = problem(x, y)
        if reason:
            _refuse(where, f"{part}: {reason}")
        if not np.issubdtype(y.dtype, np.floating):
            y = y.astype(np.int64, copy=False)  # as PyTorch wants classes
        if x.dtype == np.int32:
            x = x.astype(np.int64)  # and ids
        checked[f"{part}_x"] = np.ascontiguousarray(x)
        checked[f"{part}_y"] = np.ascontiguousarray(y)
    train_shape = checked["train_x"].shape[1:]
    test_shape = checked["test_x"].shape[1:]
    if train_shape != test_shape:
        _refuse(where, f"train and test samples differ in shape: {train_shape} and {test_shape}")
    for name, what in (("x", "samples"), ("y", "labels")):
        train = checked[f"train_{name}"]
        test = checked[f"test_{name}"]
        alike = train.dtype.kind == test.dtype.kind and train.shape[1:] == test.shape[1:]
        if not alike:
            kinds = f"{train.dtype} {list(train.shape)} and {test.dtype} {list(test.shape)}"
            _refuse(where, f"train and test {what} must be of one kind, got {kinds}")
    return checked


def _problem_of_numbers(x: Array, y: Array) -> str | None:
    """Return what is wrong with the labels of a regression, or None."""
    if y.ndim not in {1, 2} or y.shape[0] != len(x) or y.size == 0:
        return f"y must be one number a sample, [{len(x)}], or several, [{len(x)}, k], got {list(y.shape)}"
    # Comparisons with NaN are false, so this one finds it, too.
    if not -LARGEST <= y.min() <= y.max() <= LARGEST:
        return "y holds NaN or values that are too large for 32 bits"
    return None


def _classes(arrays: Mapping[str, Array], given: Any, where: str, giving_classes: str) -> int:
    """Return the number of classes: as given, or one more than the highest label; 0 for a regression."""
    labels = (arrays["train_y"], arrays["test_y"])
    if np.issubdtype(labels[0].dtype, np.floating):
        return 0
    highest = int(max(y.max() for y in labels))
    if given is not None:
        return _given_classes(given, highest, where)
    used = np.flatnonzero(sum(np.bincount(y, minlength=highest + 1) for y in labels))
    lowest = int(used[0])
    # A set may well lack a few of its classes; numbers that only name classes leave most of their range unused.
    if highest - lowest + 1 > 2 * len(used) + MOST_UNUSED:
        some = ", ".join(str(label) for label in used[:3])
        text = f"labels must be 0 to K-1, got {len(used)} numbers between {lowest} and {highest}, such as {some}"
        _refuse(where, f"{text}: {giving_classes.format(highest + 1)} if most classes have no sample, or {NUMBERING}")
    if lowest > 0:
        _refuse(where, f"labels count from {lowest}, must be 0 to K-1: subtract {lowest}")
    return highest + 1


def _given_classes(given: Any, highest: int, where: str) -> int:
    """Return the number of classes as given; 0 for samples without labels."""
    try:
        classes = operator.index(given)  # of an array without axes, too, as NumPy's files have it
    except TypeError:
        classes = -1
    if classes == 0 and highest == 0:
        return 0  # samples without labels, for a model with a separate loss
    if isinstance(given, bool) or not highest < classes <= MOST_CLASSES:
        _refuse(where, f"classes must be a whole number from {highest + 1}, as the highest label is {highest}")
    return classes


def _array(value: Any, name: str, where: str) -> Array:
    """Return a value as an array of numbers."""
    parts = value if isinstance(value, list | tuple) else ()
    if np.ma.is_masked(value) or any(np.ma.is_masked(part) for part in parts):
        _refuse(where, f"{name} has masked values: fill them with .filled(...), or leave their samples out")
    torch = sys.modules.get("torch")  # without torch a value cannot be a tensor
    if torch is not None:
        for tensor in (value, *parts[:1]):
            if isinstance(tensor, torch.Tensor) and (reason := _problem_of_tensor(tensor, torch)):
                _refuse(where, f"{name} {reason}")
        if isinstance(value, torch.Tensor):
            value = value.numpy(force=True)  # from any device
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of unequal lengths, or a list of a GPU's tensors
        array = np.array(None)
    if array.dtype == object and array.size and all(isinstance(item, str) for item in array.flat):
        array = array.astype(str)  # texts of pandas, which are told as all texts
    if array.dtype == object:
        text = f"{name} must be an array of numbers, got a {type(value).__name__} of Python objects or rows"
        _refuse(where, f"{text}: make it one array of a numeric type")
    if array.dtype.kind == "c":
        _refuse(where, f"{name} holds complex numbers: give .real and .imag as values of their own, or take abs()")
    return array


def _problem_of_tensor(tensor: Any, torch: Any) -> str | None:
    """Return why a torch tensor cannot become an array of numbers; None if it can."""
    reasons = (
        (tensor.requires_grad, "is a tensor that requires gradients: say .detach()"),
        (tensor.is_nested, "is a nested tensor: make all samples alike with .to_padded_tensor(0.0)"),
        (tensor.layout != torch.strided, "is a sparse tensor: say .to_dense()"),
        (tensor.is_quantized, "is a quantized tensor: say .dequantize()"),
        (tensor.is_meta, "is a tensor of the device meta, which has no values: load them first"),
    )
    for holds, text in reasons:
        if holds:
            return text
    try:
        torch.empty(0, dtype=tensor.dtype).numpy()
    except TypeError:
        return f"is a tensor of {tensor.dtype}, which NumPy does not have: say .float()"
    return None


def _statistic(value: Any, name: str, x: Array, where: str) -> float | Array:
    """Return a mean or standard deviation in the form of `Data`."""
    array = _array(value, name, where)
    if array.ndim == 1 and x.ndim == 4 and len(array) == x.shape[1]:
        array = array.reshape(-1, 1, 1)  # of each channel
    shape = x.shape[1:]
    is_numbers = array.dtype.kind in "iuf" and array.size > 0 and bool(np.isfinite(array).all())
    is_positive = is_numbers and bool((array > 0).all())
    wanted = "a number or one for each channel"
    if name == "std":
        wanted = f"{wanted}, above 0"
    if not is_numbers or not _fits(array.shape, shape) or (name == "std" and not is_positive):
        _refuse(where, f"{name} must be {wanted}, got {array.dtype} {list(array.shape)}")
    if array.size == 1:
        return float(array.item())
    return array.astype(np.float64)


def _fits(statistic: tuple[int, ...], sample: tuple[int, ...]) -> bool:
    """Return whether an array of one shape can be subtracted from each sample of another."""
    try:
        return np.broadcast_shapes(statistic, sample) == sample
    except ValueError:
        return False


def _owners(value: Any, name: str, count: int, where: str) -> Array:
    array = _array(value, name, where)
    lowest = -1  # a test sample whose owner has no training samples
    if name == "owner":
        lowest = 0
    if array.shape != (count,) or array.dtype.kind not in "iu" or array.min() < lowest:
        text = f"{name} must be a whole number from {lowest} for each sample, [{count}]"
        _refuse(where, f"{text}, got {array.dtype} {list(array.shape)}")
    return array.astype(np.int64)


def _refuse(where: str, what: str) -> NoReturn:
    raise InputError(f"{where}: {what}")
