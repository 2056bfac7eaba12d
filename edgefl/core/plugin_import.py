"""Imports code from outside the package, which a scenario names as "package.module:Class".

A module is searched in the folders of the scenario's key `import_from` (by default the scenario file's), then on
Python's path, then in the working directory. The folders come first, so a scenario runs the same code wherever edgefl
is started. A folder never hides Python's own modules.

Modules from folders are kept apart: if two scenarios each have a `my_nova.py`, each gets its own, even in one process.
`sys.modules` holds those of the folder used last, and `sys.path` does not change, so a module from a folder must import
its neighbours at its top, not inside a function.
"""

import importlib
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, Literal

from pydantic_core import PydanticCustomError

from edgefl.core.section import fault, nearest

OWN_PACKAGES = frozenset({"edgefl", "channel"})
NEVER_OUTSIDE = frozenset({*OWN_PACKAGES, "__main__", *sys.stdlib_module_names})  # no folder hides these

NO_PLUGINS = "EDGEFL_NO_PLUGINS"  # environment variable: unless empty or 0, nothing is imported

Mode = Literal["import", "skip", "refuse"]

log = logging.getLogger(__name__)

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATH = re.compile(f"{_NAME}:{_NAME}")


class NotImported(Exception):  # noqa: N818 - the name says what is wrong
    """A check needs a plug-in that was not imported."""


def refuse_plugins() -> None:
    """Refuse to import code from outside for a scenario, in this process and in those that it starts."""
    os.environ[NO_PLUGINS] = "1"


def _usual_mode() -> Mode:
    if os.environ.get(NO_PLUGINS, "") in {"", "0"}:
        return "import"
    return "refuse"


@dataclass
class Access:
    """How a scenario may reach code from outside, and the plug-ins that it has named."""

    folders: tuple[Path, ...] = ()  # searched before Python's path
    mode: Mode = field(default_factory=_usual_mode)  # skip: names are read, and nothing is imported
    skipped: list[str] = field(default_factory=list)  # names that were not imported, in mode skip
    used: list[Any] = field(default_factory=list)  # the plug-ins that were imported, or came as objects


def access_of(context: Any) -> Access:
    """Return the access in a validation's context, or else the usual one."""
    access = (context or {}).get("access")
    if isinstance(access, Access):
        return access
    return Access()


def check_path(path: str) -> None:
    """Check that a text has the form "package.module:Class".

    Raises:
        PydanticCustomError: it has another form, or names a definition that no file can name.
    """
    # A definition of the program itself, or inside a function, can be passed as an object, but not found from a file.
    if path.startswith("__main__:") or "<locals>" in path:
        text = "cannot be imported from a file, as the program that ran it defined it"
        raise fault(f"{path} {text}: move it to the top level of a module of its own, such as my_module.py")
    if _PATH.fullmatch(path) is None:
        raise fault(f'"{path}" is not a path such as my_package.my_module:MyClass')
    name, _, attribute = path.partition(":")
    for part in attribute.split("."):
        if part.startswith("__"):
            raise fault(f"{path}: {part} is Python's own: name a class or function of {name}")
    _check_origin(path, name)


def check_allowed(name: str, access: Access) -> None:
    """Check that a scenario may import code from outside.

    Raises:
        PydanticCustomError: it may not.
    """
    if access.mode == "refuse":
        raise fault(f"{name} is code from outside edgefl, which --no-plugins ({NO_PLUGINS}) refuses to run")


def is_own(path: str) -> bool:
    """Return whether a path names a module of edgefl's own packages."""
    return path.partition(":")[0].partition(".")[0] in OWN_PACKAGES


def imported(path: str, access: Access) -> Any:
    """Import the class or function at "package.module:Class" outside edgefl, and return it without calling it.

    Raises:
        PydanticCustomError: nothing has that name, or its module may not or cannot be imported.
    """
    check_allowed(path, access)
    check_path(path)
    if is_own(path):  # only catalogues name edgefl's own members
        raise fault(f"{path} is not from outside edgefl")
    name, _, attribute = path.partition(":")
    # No __pycache__: a refused scenario leaves nothing behind, and a changed file is always read again.
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        module = _module(path, name, access.folders)
    finally:
        sys.dont_write_bytecode = before
    definition: Any = module
    for part in attribute.split("."):
        if not hasattr(definition, part):
            known = [other for other in vars(definition) if not other.startswith("_")]
            raise fault(f"{shown_file(module.__file__ or name)} has no {part}{nearest(part, known)}")
        definition = getattr(definition, part)
        if isinstance(definition, ModuleType):
            raise fault(f"{path}: {part} is a module: name a class or function as {definition.__name__}:MyClass")
    if isinstance(definition, type | FunctionType | BuiltinFunctionType | MethodType):  # some modules hand on others'
        _check_origin(path, str(definition.__module__))
    return definition


def _check_origin(path: str, module: str) -> None:
    """Check that what a path names does not belong to a module that comes with Python, such as subprocess:run."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise fault(f"{path}: {module} comes with Python, and holds nothing that a scenario can name")


def modules_named(name: str) -> Iterator[ModuleType]:
    """Yield the modules of a name that this process has imported, the one in `sys.modules` first."""
    if name in sys.modules:
        yield sys.modules[name]
    for modules in _kept.values():
        if name in modules:
            yield modules[name]


def shown_file(file: str | Path) -> str:
    """Return a file as messages name it: relative to the working directory if it lies below."""
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _module(path: str, name: str, folders: Sequence[Path]) -> ModuleType:
    """Return the module of a path, from the first place that has it."""
    importlib.invalidate_caches()  # there may be new files
    top = name.partition(".")[0]
    for folder in folders:
        if _has_regular(folder, top):
            return _guarded(path, name, folder)
    _put_aside()  # modules from other scenarios' folders do not count
    if _on_path(top):
        return _guarded(path, name, None)
    # A folder without __init__.py is a package, too; any folder may be one, so these come after the path.
    for folder in (*folders, Path.cwd()):
        if top not in NEVER_OUTSIDE and PathFinder.find_spec(top, [str(folder)]) is not None:
            return _guarded(path, name, folder)
    looked_in = [str(folder) for folder in dict.fromkeys((*folders, Path.cwd()))]
    stems = [file.stem for folder in folders for file in folder.glob("*.py")]
    where = f"neither in {' nor in '.join(looked_in)} nor on Python's path"
    raise fault(f"there is no module {top}{nearest(top, stems)}, {where}")


def _has_regular(folder: Path, top: str) -> bool:
    """Return whether a folder has a module, or a package with __init__.py, of a name."""
    if top in NEVER_OUTSIDE:
        return False
    spec = PathFinder.find_spec(top, [str(folder)])
    return spec is not None and spec.origin is not None


def _on_path(top: str) -> bool:
    try:
        return top in sys.modules or find_spec(top) is not None
    except ValueError:  # a module without a spec, such as that of a debugger
        return False


def _guarded(path: str, name: str, folder: Path | None) -> ModuleType:
    """Import a module from a folder, or from the path; any exception becomes a sentence for the user."""
    try:
        if folder is None:
            return _unchanged(importlib.import_module(name))
        return _from_folder(name, folder)
    except (KeyboardInterrupt, PydanticCustomError):
        raise
    except BaseException as error:  # a module may raise anything, SystemExit too
        log.debug("%s cannot be imported", path, exc_info=True)
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise fault(f"{path} cannot be imported: there is no module {error.name}") from error
        raise fault(f"{path} cannot be imported: {_described(error, name.partition('.')[0], folder)}") from error


def _described(error: BaseException, top: str, folder: Path | None) -> str:
    """Return where and how an import has failed: "my_nova.py:3: ZeroDivisionError: division by zero"."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown_file(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    roots = [folder] if folder is not None else _roots(top)
    where = ""
    for file, line, _ in frames_of(error.__traceback__):
        # A library that the module calls may raise it: the last line of the plug-in's own code is shown.
        if any(Path(file).is_relative_to(root) for root in roots) and not is_installed(file, folder):
            where = f"{shown_file(file)}:{line}: "
    text = (str(error).splitlines() or [""])[0]
    return f"{where}{type(error).__name__}: {text}"


def _roots(top: str) -> list[Path]:
    """Return the file of a module on the path, or the folders of a package."""
    spec = find_spec(top)
    if spec is None:
        return []
    return [Path(place) for place in spec.submodule_search_locations or [spec.origin or ""]]


def is_installed(file: str | Path, above: Path | None = None) -> bool:
    """Return whether a file lies where packages are installed, judged below the folder `above` if it is given."""
    parts = set(Path(file).parts)
    if above is not None:
        parts -= set(above.parts)
    return bool(parts & {"site-packages", "dist-packages"})


def frames_of(traceback: TracebackType | None) -> Iterator[tuple[str, int, TracebackType]]:
    """Yield file, line and traceback of each call, outermost first."""
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno, traceback
        traceback = traceback.tb_next


# Folders

_kept: dict[Path, dict[str, ModuleType]] = {}  # by folder: the modules that were imported from it, by name
_first_use: dict[str, tuple[ModuleSpec | None, tuple[int, int]]] = {}  # by file of a module that Python keeps
_stamps: dict[Path, dict[str, tuple[int, int]]] = {}  # by folder: when their files changed last, and their sizes


class _FolderFinder:
    """Finds the modules of a folder before all others, while one of them is imported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return where a module of the folder is; None for submodules, whose package finds them."""
        if path is not None or name in NEVER_OUTSIDE:
            return None
        return PathFinder.find_spec(name, [str(self._folder)])


def _from_folder(name: str, folder: Path) -> ModuleType:
    """Return a module of a folder; all of the folder's modules are imported again if one of their files has changed."""
    kept = _kept.get(folder, {})
    if any(_stamp(file) != stamp for file, stamp in _stamps.get(folder, {}).items()):
        kept = {}
    top = name.partition(".")[0]
    present = sys.modules.get(top)
    if present is not None and not _is_kept(present) and _lies_in(top, present, folder):
        return _unchanged(importlib.import_module(name))  # the program itself has imported it
    hidden = _make_way(folder)
    _kept[folder] = kept
    sys.modules.update(kept)
    before = set(sys.modules)
    finder = _FolderFinder(folder)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for other in set(sys.modules) - before:
            if _lies_in(other, sys.modules[other], folder):
                kept[other] = sys.modules[other]
        sys.modules.update(hidden)
        files = [str(module.__file__) for module in kept.values() if getattr(module, "__file__", None)]
        _stamps[folder] = {file: _stamp(file) for file in files}


def _unchanged(module: ModuleType) -> ModuleType:
    """Return a module that Python keeps; refuse it if its file has changed since, as results would name other code."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return module
    # A reload gives the module another specification.
    spec, stamp = _first_use.setdefault(file, (module.__spec__, _stamp(file)))
    if spec is not module.__spec__:
        _first_use[file] = (module.__spec__, _stamp(file))
    elif stamp != _stamp(file):
        text = "has changed since this program imported it: start the program again, or call importlib.reload"
        raise fault(f"{shown_file(file)} {text}")
    return module


def _put_aside() -> None:
    """Remove the modules that came from folders from `sys.modules`."""
    for name, module in list(sys.modules.items()):
        if _is_kept(module):
            del sys.modules[name]


def _make_way(folder: Path) -> dict[str, ModuleType]:
    """Remove modules with names of a folder's from `sys.modules`; return those to put back afterwards."""
    _put_aside()
    hidden: dict[str, ModuleType] = {}
    names = {path.stem for path in folder.iterdir()} - NEVER_OUTSIDE
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in names and not _lies_in(name, module, folder):
            hidden[name] = sys.modules.pop(name)
    return hidden


def _is_kept(module: ModuleType) -> bool:
    name = str(getattr(module, "__name__", ""))  # an entry of `sys.modules` may be None
    return any(module is modules.get(name) for modules in _kept.values() if name in modules)


def _lies_in(name: str, module: ModuleType, folder: Path) -> bool:
    """Return whether a module, or its package, lies directly in a folder."""
    file = getattr(module, "__file__", None)
    places = getattr(module, "__path__", ())  # of a package without __init__.py, which has no file
    if isinstance(file, str):
        places = (file,)
    if not isinstance(places, Iterable):  # torch has modules that answer to every name
        return False
    top = name.partition(".")[0]
    for place in places:
        path = Path(place).resolve()
        # Packages of an environment below the folder are not modules of the folder.
        if path.is_relative_to(folder) and Path(path.relative_to(folder).parts[0]).stem == top:
            return True
    return False


def _stamp(file: str) -> tuple[int, int]:
    try:
        status = Path(file).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
