"""The functions that programs call from `edgefl`: their arguments are checked, and errors speak of Python."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, ParamSpec, TypeVar

from edgefl.core.errors import InputError
from edgefl.core.section import nearest, nearest_name, shown

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class _Kind(NamedTuple):
    """What an argument must be."""

    is_right: Callable[[Any], bool]
    wanted: str


def _is_flag(value: Any) -> bool:
    return type(value).__name__ in {"bool", "bool_"}  # also NumPy's


def _is_whole(value: Any) -> bool:
    # The rows of a table in pandas have whole numbers as floats.
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return is_whole and not _is_flag(value)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _is_scenario(value: Any) -> bool:
    return _is_path(value) or isinstance(value, Mapping) or hasattr(value, "model_dump")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


_FLAG = _Kind(lambda value: _is_flag(value) or value in (0, 1), "must be True or False")
_WHOLE = _Kind(_is_whole, "must be a whole number")
_PATH = _Kind(_is_path, "must be a path")
_TEXT = _Kind(lambda value: isinstance(value, str), "must be text")

# None is right wherever it is the default.
_KINDS = {
    "scenario": _Kind(_is_scenario, "must be a file, the name of a scenario, a mapping or a loaded scenario"),
    "source": _Kind(lambda value: _is_path(value) or isinstance(value, Mapping), "must be a sweep file or a mapping"),
    "folder": _PATH,
    "out": _PATH,
    "device": _Kind(_TEXT.is_right, 'must be text such as "auto", "cpu" or "cuda:0"'),
    "cluster": _TEXT,
    "seed": _WHOLE,
    "workers": _WHOLE,
    "gpus_per_run": _Kind(lambda value: isinstance(value, Real), "must be a number"),
    "train": _FLAG,
    "resume": _FLAG,
    "overwrite": _FLAG,
    "extendable": _FLAG,
    "new_worlds": _FLAG,
    "flat": _FLAG,
    "max_episode_steps": _WHOLE,
    "progress": _Kind(callable, "must be a function, which is called with each finished round's row"),
    "over": _Kind(
        lambda value: isinstance(value, Mapping),
        'must be a mapping of keys to values, such as {"radio.bandwidth_hz": "5e6..100e6"}',
    ),
    "load source": _Kind(_is_scenario, "must be a file, the name of a scenario or a mapping"),
    "compare runs": _Kind(
        lambda value: _is_list(value) or _is_path(value),
        'must be a list of folders or results, such as ["fedavg", "fedprox"], or the folder of a sweep',
    ),
    "report runs": _FLAG,
}
"""By argument, or by function and argument: what it must be."""

_FLAGS = {"no-train": "train=False", "resume": "resume=True", "overwrite": "overwrite=True", "runs": "runs=True"}
_LISTS = {"set": "overrides", "over": "over"}  # options with a text that holds a key and a value
_OTHERS = ["device", "cluster", "workers", "gpus-per-run", "seed"]
_NAMES = "|".join([*_FLAGS, *_LISTS, *_OTHERS])
_AT_BEGINNING = re.compile(rf"--({_NAMES})(?: ([^\s:]+(?::\d+)?))?: ")
_OPTION = re.compile(rf"(?<![\w-])--({_NAMES})(?![\w-])")
_COMMAND = re.compile(r"`edgefl (run|sweep) ([\w./:-]+)`|edgefl (run|sweep) (--[a-z]+)")


@cache
def from_python(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Return a function that checks its arguments, and whose errors speak of them."""
    signature = inspect.signature(function)

    @wraps(function)
    def called(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        _check_names(function.__name__, signature, keywords)
        bound = signature.bind(*arguments, **keywords)
        for name, value in bound.arguments.items():
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: _checked(function.__name__, key, more) for key, more in value.items()}
            else:
                bound.arguments[name] = _checked(function.__name__, name, value, signature.parameters[name].default)
        try:
            return function(*bound.args, **bound.kwargs)
        except InputError as error:
            error.reword(as_python)
            raise

    return called


def _check_names(function: str, signature: inspect.Signature, keywords: Mapping[str, Any]) -> None:
    """Check that a function takes all keywords; a key of the scenario is set with `overrides`."""
    known = signature.parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
        return  # the function checks them
    for name in keywords:
        if name in known:
            continue
        text = f"unknown argument{nearest(name, known)}"
        if "overrides" in known and nearest_name(name, known) is None:
            text = f'{text}: keys of the scenario are set with overrides=["{name}={keywords[name]}"]'
        raise InputError(f"{function}: {name}: {text}; known: {', '.join(known)}")


def _checked(function: str, name: str, value: Any, default: Any = None) -> Any:
    """Return an argument; a whole number as an int."""
    kind = _KINDS.get(f"{function} {name}") or _KINDS.get(name)
    if kind is None or value is default:
        return value
    if not kind.is_right(value):
        raise InputError(f"{function}: {name}: {kind.wanted}, got {shown(value)}")
    if kind is _WHOLE:
        return int(value)
    return value


def as_python(line: str) -> str:
    """Return a message that names options of the command line with the arguments of Python's functions."""
    if head := _AT_BEGINNING.match(line):
        line = f"{_argument(head[1], head[2])}: {line[head.end() :]}"
    for option, name in _LISTS.items():
        if line.startswith(f"--{option} "):
            line = f"{name}: {line.removeprefix(f'--{option} ')}"
    line = _COMMAND.sub(lambda found: f"edgefl.{found[1] or found[3]}({_first(found[2] or found[4])})", line)
    line = _OPTION.sub(lambda found: _FLAGS.get(found[1], f"{_name(found[1])}="), line)
    return re.sub(r"(?<!\S)-o(?!\w)", "out=", line)


def _first(word: str) -> str:
    if word.startswith("--"):
        return f"..., {_FLAGS.get(word.removeprefix('--'), word)}"
    return f'"{word}"'


def _argument(option: str, value: str | None) -> str:
    name = _name(option)
    if option in _FLAGS:
        return _FLAGS[option]
    if value is None:
        return name
    if option in _LISTS:
        return f"{name}: {value}"
    if re.fullmatch(r"[-+.\d]+", value):
        return f"{name}={value}"
    return f'{name}="{value}"'


def _name(option: str) -> str:
    return _LISTS.get(option, option.replace("-", "_"))
