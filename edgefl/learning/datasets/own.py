"""Checks of the user's arrays, from a file, a function or Python."""

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from edgefl.core.errors import InputError
from edgefl.learning.datasets.array_forms import NUMBERING, as_arrays, as_labels, as_owners
from edgefl.learning.datasets.base import IGNORED, LARGEST, MOST_CLASSES, Array, Arrays, Data, measured, problem

NAMES = ("train_x", "train_y", "test_x", "test_y")
MORE_NAMES = ("classes", "mean", "std", "owner", "test_owner", "weight")
IGNORE = "ignore_index"  # the label of tokens or pixels that do not count, as torch's cross_entropy calls it
KNOWN = (*NAMES, *MORE_NAMES, IGNORE)
CHANNELS = (1, 3)  # gray, colour
MOST_UNUSED = 10  # classes without a sample that pass where half of the classes have none
IN_A_MAPPING = "return a mapping with classes: {}"  # how a function gives the number of classes


def own_data(found: Mapping[str, Any], where: str, giving_classes: str = IN_A_MAPPING) -> Data:
    """Return the dataset that arrays make.

    Bytes are standardised over all training values unless `mean` and `std` are given; floating-point samples are taken
    as they are, and int64 ones are token ids. Images [n, H, W, 1 or 3] get their channels first. Integer labels are
    classes from 0, one for each sample or for each of its tokens or pixels; floating-point ones are the numbers of a
    regression.

    Args:
        found: train_x, train_y, test_x and test_y, and any other of `KNOWN`.
        where: begins a message, such as "data.path: data.npz".
        giving_classes: how to give the number of classes, {}, for a message.

    Raises:
        InputError: they are not samples and labels.
    """
    missing = [name for name in NAMES if name not in found]
    if missing:
        _refuse(where, f"lacks {', '.join(missing)}; needed: {', '.join(NAMES)}")
    unknown = [str(name) for name in found if name not in KNOWN]
    if unknown:
        _refuse(where, f"has an unknown {unknown[0]}; known: {', '.join(KNOWN)}")
    arrays: Arrays = {name: array_of(found[name], name, where) for name in NAMES}
    if found.get(IGNORE) is not None:
        arrays = _without_ignored(arrays, found[IGNORE], where)
    arrays = checked(arrays, where, lambda x, y: _problem(x, y, found.get("classes")))
    more: dict[str, Any] = {}
    if arrays["train_x"].dtype == np.uint8:  # the user has chosen the scale of floats
        more = measured(arrays["train_x"])
    for name in ("mean", "std"):
        if found.get(name) is not None:
            more[name] = _statistic(found[name], name, arrays["train_x"], where)
    for name, part in (("owner", "train"), ("test_owner", "test")):
        if found.get(name) is not None:
            both = found.get("test_owner") is not None
            more[name] = _owners(found[name], name, len(arrays[f"{part}_y"]), where, both=both)
    if found.get("weight") is not None:
        more["weight"] = _weights(found["weight"], len(arrays["train_y"]), where)
    return Data(**arrays, classes=_classes(arrays, found.get("classes"), where, giving_classes), **more)


def from_data(data: Data, where: str) -> Data:
    """Return a finished `Data` with its arrays checked as a user's are.

    Its samples may have no labels: 0 classes, and label 0 throughout.

    Raises:
        InputError: it does not hold samples and labels.
    """
    names = (*NAMES, *MORE_NAMES)
    own = own_data({name: getattr(data, name) for name in names}, where)
    return replace(data, **{name: getattr(own, name) for name in names})


def channels_first(x: Array) -> Array:
    """Return images [n, H, W, 1 or 3] as [n, 1 or 3, H, W]; anything else unchanged."""
    # [n, 3, H, W] has its channels first already, also where W is 3.
    if x.ndim != 4 or x.shape[-1] not in CHANNELS or x.shape[1] in CHANNELS:
        return x
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def _without_ignored(arrays: Mapping[str, Array], label: Any, where: str) -> Arrays:
    """Return the four arrays with `IGNORED` instead of a label of tokens or pixels that does not count."""
    try:
        label = operator.index(label)
    except TypeError:
        _refuse(where, f"{IGNORE} must be a whole number, got {label!r}")
    marked = dict(arrays)
    for name in ("train_y", "test_y"):
        y = arrays[name]
        if y.ndim < 2 or y.dtype.kind not in "iu":
            text = f"{IGNORE} is for the labels of tokens or pixels, [n, ...] whole numbers"
            _refuse(where, f"{text}, and {name} is {y.dtype} {list(y.shape)}: leave it out")
        marked[name] = np.where(y == label, IGNORED, y.astype(np.int64))
    return marked


def checked(arrays: Mapping[str, Array], where: str, problem_of: Callable[[Array, Array], str | None]) -> Arrays:
    """Return the four arrays in the types that training wants.

    `problem_of` says what is wrong with samples and labels, or None.

    Raises:
        InputError: they are not samples and labels, or those of training and of tests differ in kind.
    """
    ready = dict(arrays)
    for part in ("train", "test"):
        x = channels_first(arrays[f"{part}_x"])
        y = arrays[f"{part}_y"]
        reason = problem_of(x, y)
        if reason:
            _refuse(where, f"{part}: {reason}")
        label_type: type = np.int64  # as PyTorch wants classes
        if np.issubdtype(y.dtype, np.floating):
            label_type = np.float32
        if x.dtype == np.int32:
            x = x.astype(np.int64)  # and ids
        ready[f"{part}_x"] = np.ascontiguousarray(x)
        ready[f"{part}_y"] = np.ascontiguousarray(y.astype(label_type, copy=False))
    train_shape = ready["train_x"].shape[1:]
    test_shape = ready["test_x"].shape[1:]
    if train_shape != test_shape:
        _refuse(where, f"train and test samples differ in shape: {train_shape} and {test_shape}")
    for name, what in (("x", "samples"), ("y", "labels")):
        train = ready[f"train_{name}"]
        test = ready[f"test_{name}"]
        alike = train.dtype.kind == test.dtype.kind and train.shape[1:] == test.shape[1:]
        if not alike:
            kinds = f"{train.dtype} {list(train.shape)} and {test.dtype} {list(test.shape)}"
            _refuse(where, f"train and test {what} must be of one kind, got {kinds}")
    return ready


def _problem(x: Array, y: Array, classes: Any) -> str | None:
    """Return what is wrong with samples and labels of any kind; `classes` is their number if it is given."""
    if y.ndim < 2 and not np.issubdtype(y.dtype, np.floating):
        return problem(x, y)
    if reason := problem(x, np.zeros(x.shape[:1], dtype=np.int64)):
        return reason
    if np.issubdtype(y.dtype, np.floating):
        return _problem_of_numbers(x, y)
    return _slip(x, y, classes) or _problem_of_several(x, y)


def _problem_of_numbers(x: Array, y: Array) -> str | None:
    if y.ndim not in {1, 2} or y.shape[0] != len(x) or y.size == 0:
        remedy = "say y.reshape(len(y), -1), or y.astype(int) if these are classes"
        return f"y must be one number a sample, [{len(x)}], or several, [{len(x)}, k], got {list(y.shape)}: {remedy}"
    # Comparisons with NaN are false, so this one finds it, too.
    if not -LARGEST <= y.min() <= y.max() <= LARGEST:
        return "y holds NaN or values that are too large for 32 bits"
    return None


def _slip(x: Array, y: Array, classes: Any) -> str | None:
    """Return that labels [n, k] mean one label a sample, if they look so and the number of classes is not given."""
    remedy = as_labels(x, y)
    if classes is not None or not remedy:
        return None
    return f"y must be one label a sample, [{len(x)}], or of tokens, with classes, got {y.shape}{remedy}"


def _problem_of_several(x: Array, y: Array) -> str | None:
    if y.shape[0] != len(x) or y.size == 0:
        wanted = f"one label a sample, [{len(x)}], or those of its tokens or pixels, [{len(x)}, ...]"
        return f"y must be {wanted}, got {y.shape}"
    if y.dtype.kind not in "iu":
        return problem(x, y.reshape(len(y), -1)[:, 0])  # which names the type
    counted = y[y != IGNORED]
    if not len(counted):
        return f"no label counts: all are {IGNORED}"
    if counted.min() < 0:
        text = f"labels count from 0, and {IGNORED} marks those that do not count, got {counted.min()}"
        return f"{text}: if that marks them, give {IGNORE}={counted.min()}"
    if counted.max() >= MOST_CLASSES:
        return f"labels must be less than {MOST_CLASSES}, the number of classes, got {counted.max()}"
    return None


def _classes(arrays: Mapping[str, Array], given: Any, where: str, giving_classes: str) -> int:
    """Return the number of classes: as given, or one more than the highest label; 0 for a regression."""
    labels = (arrays["train_y"], arrays["test_y"])
    if np.issubdtype(labels[0].dtype, np.floating):
        return 0
    several = labels[0].ndim > 1
    if several:
        labels = tuple(y[y != IGNORED] for y in labels)
    highest = int(max(y.max() for y in labels))
    if given is not None:
        return _given_classes(given, highest, where)
    used = np.flatnonzero(sum(np.bincount(y, minlength=highest + 1) for y in labels))
    lowest = int(used[0])
    # A set may well lack a few of its classes; numbers that only name classes leave most of their range unused.
    if highest - lowest + 1 > 2 * len(used) + MOST_UNUSED:
        some = ", ".join(str(label) for label in used[:3])
        text = f"labels must be 0 to K-1, got {len(used)} numbers between {lowest} and {highest}, such as {some}"
        if several:
            remedy = f"give {IGNORE}={highest} if that marks labels that do not count, or"
            _refuse(where, f"{text}: {remedy} {giving_classes.format(highest + 1)} if most classes have no label")
        _refuse(where, f"{text}: {giving_classes.format(highest + 1)} if most classes have no sample, or {NUMBERING}")
    if lowest > 0 and not several:  # the first id of a vocabulary may be padding
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


def array_of(value: Any, name: str, where: str) -> Array:
    """Return what a user gives as an array of numbers or texts; raises an InputError if it is none."""
    parts = value if isinstance(value, list | tuple) else ()
    if np.ma.is_masked(value) or any(np.ma.is_masked(part) for part in parts):
        _refuse(where, f"{name} has masked values: fill them with .filled(...), or leave their samples out")
    torch = sys.modules.get("torch")  # without torch a value cannot be a tensor
    if torch is not None and any(isinstance(one, torch.Tensor) for one in (value, *parts[:1])):
        try:
            tensor = torch.stack(value) if parts else value
            value = tensor.numpy(force=True)  # from any device, without gradients
        except (TypeError, RuntimeError) as error:
            _refuse(where, f"{name} is a tensor that NumPy cannot hold: {' '.join(str(error).split())}")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of unequal lengths, or a list of a GPU's tensors
        array = np.array(None)
    if array.dtype == object and array.size and all(isinstance(item, str) for item in array.flat):
        array = array.astype(str)  # texts of pandas, which get the message of all texts
    if array.dtype == object:
        _refuse(where, f"{name} {_problem_of_objects(value, parts)}")
    if array.dtype.kind == "c":
        _refuse(where, f"{name} holds complex numbers: give .real and .imag as values of their own, or take abs()")
    return array


def _problem_of_objects(value: Any, parts: Sequence[Any]) -> str:
    """Return why a value with these parts is not an array of numbers, and what to do."""
    if len({len(part) for part in parts if hasattr(part, "__len__")}) > 1:
        text = f"has rows of unequal lengths: pad them to one length, labels of tokens with {IGNORED}"
        return f"{text}; lists of arrays, one a client, are for edgefl.client_arrays"
    if value is None:
        return "is missing, got None: give samples and labels for training and for tests"
    text = f"must be an array of numbers, got a {type(value).__name__}"
    if remedy := as_arrays(value):
        return f"{text}{remedy}"
    return f"{text} of Python objects or rows: make it one array of a numeric type"


def _statistic(value: Any, name: str, x: Array, where: str) -> float | Array:
    """Return a mean or standard deviation in the form of `Data`."""
    array = array_of(value, name, where)
    if array.ndim == 1 and x.ndim == 4 and len(array) == x.shape[1]:
        array = array.reshape(-1, 1, 1)  # of each channel
    is_numbers = array.dtype.kind in "iuf" and array.size > 0 and bool(np.isfinite(array).all())
    is_positive = is_numbers and bool((array > 0).all())
    wanted = "a number or one for each channel"
    if name == "std":
        wanted = f"{wanted}, above 0"
    if not is_numbers or not _fits(array.shape, x.shape[1:]) or (name == "std" and not is_positive):
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


def _owners(value: Any, name: str, count: int, where: str, *, both: bool) -> Array:
    array = array_of(value, name, where)
    lowest = -1  # a test sample whose owner has no training samples
    if name == "owner":
        lowest = 0
    if array.shape != (count,) or array.dtype.kind not in "iu" or array.min() < lowest:
        text = f"{name} must be a whole number from {lowest} for each sample, [{count}]"
        remedy = as_owners(array, name, both=both)
        _refuse(where, f"{text}, got {array.dtype} {list(array.shape)}{remedy}")
    return array.astype(np.int64)


def _weights(value: Any, count: int, where: str) -> Array:
    array = array_of(value, "weight", where)
    is_numbers = array.dtype.kind in "iuf" and array.shape == (count,) and bool(np.isfinite(array).all())
    if not is_numbers or array.min() < 0 or array.max() == 0:
        text = f"weight must be a number from 0 for each training sample, [{count}], not all of them 0"
        _refuse(where, f"{text}, got {array.dtype} {list(array.shape)}")
    return array.astype(np.float64)


def _refuse(where: str, what: str) -> NoReturn:
    raise InputError(f"{where}: {what}")
