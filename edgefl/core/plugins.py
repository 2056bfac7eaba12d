"""Plug-ins, the members of catalogues from outside the package: their source files, their package, their failures.

`plugin_import` imports them. Results depend on their source, and a message about an exception names their line.
"""

import ast
import hashlib
import inspect
import json
import logging
import marshal
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from edgefl.core.errors import InputError, RunError
from edgefl.core.plugin_import import OWN_PACKAGES, frames_of, is_installed, modules_named, shown_file

log = logging.getLogger(__name__)

REMOTE_CALLS = "_edgefl_calls"  # attribute of an exception from another process: files and lines of its traceback
REMOTE_TEXT = "_edgefl_text"  # its type and text, where an exception of another type stands for it


def is_outside(definition: Any) -> bool:
    """Return whether a class or function comes from outside the package."""
    return str(definition.__module__).partition(".")[0] not in OWN_PACKAGES


def path_of(definition: Any) -> str:
    """Return "package.module:Class" of a class or function, or of another object's class."""
    if not hasattr(definition, "__qualname__"):  # such as a functools.partial
        definition = type(definition)
    return f"{definition.__module__}:{definition.__qualname__}"


@dataclass(frozen=True)
class Plugin:
    """A class or function from outside, as a scenario uses it."""

    key: str  # of the scenario, such as server.selection
    path: str  # "package.module:Class"
    definition: Any

    def __str__(self) -> str:
        return f"{self.key} {self.path}"

    @property
    def module(self) -> ModuleType | None:
        """The module that holds the definition; None if it is gone."""
        return module_of(self.definition)

    @property
    def folder(self) -> Path | None:
        """The folder that its module or package is imported from; None if it is installed, or has no file."""
        file = _file(self.module)
        if file is None or is_installed(file):
            return None
        root, _ = _root(file, self.definition.__module__)
        standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
        return None if root in standard else root

    @property
    def files(self) -> list[Path]:
        """Its source: the files of its module or package, of its base classes, and of their imports beside them."""
        pending: list[tuple[Path, str]] = []
        for definition in _definitions(self.definition):
            file = _file(module_of(definition))
            if file is not None:
                pending.append(_root(file, definition.__module__))
        found: dict[tuple[Path, str], list[Path]] = {}
        while pending:
            root, top = pending.pop()
            if (root, top) in found:
                continue
            found[root, top] = _files_of(root, top)
            if not is_installed(root / "x"):  # other packages there have their own versions
                pending += [(root, name) for name in _imports(found[root, top]) if _is_beside(root, name)]
        return sorted({file for files in found.values() for file in files})

    def sha256(self) -> str:
        """Return a digest of its source, wherever the files lie."""
        digest = hashlib.sha256()
        files = self.files
        if not files:  # typed at a prompt: only the compiled functions are known
            for definition in _definitions(self.definition):
                for function in _functions(definition):
                    digest.update(marshal.dumps(function.__code__.replace(co_filename="", co_firstlineno=1)))
        for file in files:
            digest.update(f"{file.name}\n".encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def described(self) -> dict[str, str | None]:
        """Return its entry in the manifest: key, path, file, digest, and its distribution if it is installed."""
        file = _file(self.module)
        name, version = distribution_of(self.definition)
        return {
            "key": self.key,
            "path": self.path,
            "file": None if file is None else str(file),
            "sha256": self.sha256(),
            "distribution": name,
            "version": version,
        }


def module_of(definition: Any) -> ModuleType | None:
    """Return the module that holds a class or function."""
    for module in modules_named(definition.__module__):
        found: Any = module
        for part in definition.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is definition:
            return module
    return next(modules_named(definition.__module__), None)


def distribution_of(definition: Any) -> tuple[str | None, str | None]:
    """Return name and version of the distribution of a class or function; None, None if it has none."""
    file = _file(module_of(definition))
    if file is None:
        return None, None
    top = definition.__module__.partition(".")[0]
    for distribution in metadata.distributions():
        if _has_module(distribution, top, file):
            return distribution.name, distribution.version
    return None, None


def _has_module(distribution: metadata.Distribution, top: str, file: Path) -> bool:
    """Return whether a distribution has installed a file of the top-level module or package `top`.

    `importlib.metadata.packages_distributions` answers the same for all names, but makes an object of each installed
    file: a second at the beginning of each run.
    """
    root = Path(str(distribution.locate_file(""))).resolve()
    if root not in file.parents and not _is_editable(distribution):
        return False  # a file of the user's with the name of an installed module
    names = distribution.read_text("top_level.txt")
    if names is not None:
        return top in names.split()
    record = "\n" + (distribution.read_text("RECORD") or "")
    return f"\n{top}/" in record or f"\n{top}." in record


def _is_editable(distribution: metadata.Distribution) -> bool:
    """Return whether pip has installed a link to a folder: the files lie there."""
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _definitions(definition: Any) -> list[Any]:
    """Return a definition and, of a class, its bases from outside that belong to no library."""
    if not inspect.isclass(definition):
        return [definition]
    bases = [base for base in definition.__mro__[1:] if is_outside(base)]
    return [definition, *(base for base in bases if not _is_library(base))]


def _is_library(definition: Any) -> bool:
    file = _file(module_of(definition))
    return file is None or is_installed(file) or str(file).startswith(sysconfig.get_path("stdlib"))


def _functions(definition: Any) -> list[Any]:
    if inspect.isfunction(definition):
        return [definition]
    found = [inspect.unwrap(getattr(value, "__func__", value)) for value in vars(definition).values()]
    return [value for value in found if inspect.isfunction(value)]


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).exists():
        return None
    return Path(file).resolve()


def _root(file: Path, module: str) -> tuple[Path, str]:
    """Return the folder that holds a module's top-level module or package, and its name there."""
    if module == "__main__":
        return file.parent, file.stem
    depth = module.count(".")
    if file.name == "__init__.py":
        depth += 1
    return file.parents[depth], module.partition(".")[0]


def _files_of(root: Path, top: str) -> list[Path]:
    """Return the files of a module or package in a folder."""
    module = root / f"{top}.py"
    if module.is_file():
        return [module]
    return [file for file in (root / top).rglob("*.py") if file.is_file()]


def _is_beside(root: Path, name: str) -> bool:
    """Return whether a folder has a module or package of a name."""
    return (root / f"{name}.py").is_file() or (root / name / "__init__.py").is_file()


def _imports(files: Iterable[Path]) -> set[str]:
    """Return the names of the top-level modules and packages that files import, without edgefl's own."""
    names: set[str] = set()
    for file in files:
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - OWN_PACKAGES


# Failures


class BrokenRule(Exception):  # noqa: N818 - the name says what is wrong
    """A plug-in has broken a rule of its kind; the text is a finished line with its file and line."""


class WrongReturn(BrokenRule):
    """A plug-in has returned a wrong value."""


class Call(NamedTuple):
    """A call of a traceback."""

    file: str
    line: int
    owner: type | None  # the class whose method was called, if it is known


def note_calls(error: BaseException) -> None:
    """Note the traceback on an exception, so that it survives the way to another process."""
    calls = [(call.file, call.line) for call in _calls(error)]
    setattr(error, REMOTE_CALLS, calls)


def calls_noted(error: BaseException) -> dict[str, object]:
    """Return the notes of `note_calls` on an exception, for another one that takes its place."""
    return {REMOTE_CALLS: getattr(error, REMOTE_CALLS, []), REMOTE_TEXT: _sentence(error)}


def located(error: BaseException, plugins: Iterable[Plugin]) -> str | None:
    """Return a line about an exception that a plug-in raised; None if none of the plug-ins raised it.

    The line is "my_nova.py:12: ZeroDivisionError: division by zero (in algorithm my_nova:MyNova)", with the plug-in's
    innermost line.

    Args:
        error: the exception; its causes count, too.
        plugins: those that may have raised it.
    """
    by_file: dict[str, list[Plugin]] = {}
    for plugin in plugins:
        for file in plugin.files or [Path(str(inspect.getfile(plugin.definition)))]:
            by_file.setdefault(str(file), []).append(plugin)
    for cause in _causes(error):
        if isinstance(cause, BrokenRule):
            return str(cause)
        calls = list(_calls(cause))
        inside = [call for call in calls if call.file in by_file]
        if inside:
            where = inside[-1]
            plugin = _responsible(by_file[where.file], calls)
            return f"{shown_file(where.file)}:{where.line}: {_sentence(cause)} (in {plugin})"
        if calls and isinstance(cause, NotImplementedError):
            # The base class raised it, as a hook is missing: no line of the plug-in is among the calls.
            for plugin in plugins:
                if calls[-1].owner is plugin.definition:
                    return _missing(plugin, cause)
    return None


@contextmanager
def attributing(plugins: Sequence[Plugin], kind: type[InputError | RunError]) -> Iterator[None]:
    """Turn an exception of a plug-in into an error of a `kind`, with the line of `located`; others pass unchanged.

    Even `SystemExit` counts: a plug-in must not end the program.
    """
    try:
        yield
    except (InputError, RunError, KeyboardInterrupt, GeneratorExit):  # the last one closes a generator
        raise
    except BaseException as error:
        line = located(error, plugins)
        if line is None:
            raise
        log.debug("a plug-in has raised an exception", exc_info=True)
        raise kind(line) from error


def method_place(cls: type, method: str) -> str:
    """Return "file:line" of a class's method, or of the class if it inherits the method from edgefl."""
    code = getattr(getattr(cls, method, None), "__code__", None)
    if code is not None and is_outside(getattr(cls, method)):
        return f"{shown_file(code.co_filename)}:{code.co_firstlineno}"
    return place_of(cls)


def place_of(definition: Any) -> str:
    """Return "file:line" of a class or function, or its path if it was typed at a prompt."""
    try:
        return f"{shown_file(inspect.getfile(definition))}:{inspect.getsourcelines(definition)[1]}"
    except (OSError, TypeError):
        return path_of(definition)


def place_within(error: BaseException, definition: Any) -> str:
    """Return " (my_nets.py:12)", the innermost line of a definition's source in a traceback, or an empty text."""
    files = {str(file) for file in Plugin("", "", definition).files}
    where = ""
    for call in _calls(error):
        if call.file in files:
            where = f" ({shown_file(call.file)}:{call.line})"
    return where


def _missing(plugin: Plugin, cause: BaseException) -> str:
    hook = ""
    for _, _, traceback in frames_of(cause.__traceback__):
        hook = traceback.tb_frame.f_code.co_name
    return f"{method_place(plugin.definition, hook)}: {plugin.path} must define {hook} (in {plugin})"


def _responsible(plugins: Sequence[Plugin], calls: Sequence[Call]) -> Plugin:
    """Return the plug-in of a file that raised an exception: the one whose method was called last."""
    for call in reversed(calls):
        for plugin in plugins:
            if call.owner is not None and call.owner is plugin.definition:
                return plugin
    return plugins[0]


def _calls(error: BaseException) -> Iterator[Call]:
    """Yield the calls that led to an exception, outermost first; those in another process come last."""
    for file, line, traceback in frames_of(error.__traceback__):
        owner = traceback.tb_frame.f_locals.get("self")
        yield Call(str(Path(file).resolve()), line, None if owner is None else type(owner))
    for file, line in getattr(error, REMOTE_CALLS, ()):
        yield Call(file, line, None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _sentence(error: BaseException) -> str:
    """Return the type of an exception and the first line of its text."""
    noted = getattr(error, REMOTE_TEXT, None)
    if noted is not None:
        return str(noted)
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# Installed plug-ins


class Installed(NamedTuple):
    """A plug-in that an installed distribution names in its entry points."""

    name: str
    path: str  # "package.module:Class"
    distribution: str
    version: str


def installed(kind: str) -> list[Installed]:
    """Return the installed plug-ins of a kind, such as algorithms, by name; nothing is imported."""
    found = set()
    for point in metadata.entry_points(group=f"edgefl.{kind}"):
        came_with = ("unknown", "unknown") if point.dist is None else (point.dist.name, point.dist.version)
        found.add(Installed(point.name, point.value.replace(" ", ""), *came_with))
    return sorted(found)


def installed_kinds() -> list[str]:
    """Return the kinds of installed plug-ins, known or not: the ends of the groups of entry points `edgefl.KIND`."""
    groups = sorted(metadata.entry_points().groups)
    return [group.removeprefix("edgefl.") for group in groups if group.startswith("edgefl.")]
