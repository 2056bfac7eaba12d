"""The pages of the public Python names, each with its first sentence; mkdocstrings adds the rest."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from site_pages.markdown_text import code, escaped, link, page, table

FOLDER = "reference/python"
INDEX = f"{FOLDER}/README.md"
CHANNEL = "channel"


class Library(NamedTuple):
    """A package whose public names have a page."""

    module: str
    title: str
    about: str
    guide: str  # page in docs/


LIBRARIES = (
    Library("edgefl", "edgefl: runs and results", "Runs scenarios, reads result folders, compares runs.", "python.md"),
    Library(
        "edgefl.testing", "edgefl.testing: checks of your own members", "One check for each kind.", "testing-plugins.md"
    ),
    Library("edgefl.gym", "edgefl.gym: agents", "Environments of Gymnasium.", "gym.md"),
    Library("edgefl.flower", "edgefl.flower: Flower apps", "Calls of a Flower app to the emulation.", "flower.md"),
)
INTRODUCTION = """\
Programs may import these public names; a change of their meaning is a line in the [changes](../../../CHANGELOG.md).
All other names are private.
"""
ABOUT_CHANNEL = "The physics of the radio as functions of arrays: no state, no random numbers, no SimPy, no torch."


def pages() -> dict[str, str]:
    """Return the texts of the pages by their paths in docs/."""
    texts = {INDEX: _index()}
    for library in LIBRARIES:
        texts[_path(library.module)] = _library_page(library)
    for module in channel_modules():
        texts[_path(module)] = _module_page(module)
    return texts


def channel_modules() -> list[str]:
    """Return the public modules of `channel`, which imports none of them until it is asked."""
    return [f"{CHANNEL}.{name}" for name in import_module(CHANNEL).__all__]


def public_names(module: str) -> list[str]:
    """Return the names in a module's `__all__`, or those that it defines; neither is imported."""
    tree = _tree(module)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            listed: list[str] = ast.literal_eval(statement.value)
            return [name for name in listed if not name.startswith("_")]
    defined = [one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    return [name for name in defined if not name.startswith("_")]


def _index() -> str:
    rows = []
    for library in LIBRARIES:
        names = ", ".join(code(name) for name in public_names(library.module))
        rows.append([link(code(library.module), INDEX, _path(library.module)), library.about, names])
    modules = [
        [link(code(name), INDEX, _path(name)), escaped(_summary(_docstring(name)))] for name in channel_modules()
    ]
    channel = f"## channel\n{ABOUT_CHANNEL} [The manual](../../channel.md) has a page for each model.\n\n"
    return page(
        "Python names",
        INTRODUCTION,
        table(("package", "purpose", "names"), rows),
        channel + table(("module", "description"), modules),
    )


def _library_page(library: Library) -> str:
    own = _path(library.module)
    introduction = f"{library.about} {link('The guide', own, library.guide)} has examples."
    return page(library.title, introduction, *_names(library.module))


def _module_page(module: str) -> str:
    paragraphs = inspect.cleandoc(_docstring(module)).split("\n\n")
    prose = [escaped(text) for text in paragraphs if not text.lstrip().startswith(">>>")]
    return page(code(module), *prose, *_names(module))


def _names(module: str) -> list[str]:
    """Return the table of a module's public names, and a comment that the site replaces by their documentation."""
    names = public_names(module)
    rows = []
    in_full = []
    for name in names:
        definition, docstring = _definition(module, name)
        rows.append([code(name), escaped(_summary(docstring))])
        in_full.append(f"{module}.{name}={definition}")
    comment = f"<!-- in full: {' '.join(in_full)} -->"
    return [table(("name", "description"), rows), comment]


def _path(module: str) -> str:
    return f"{FOLDER}/{module}.md"


def _tree(module: str) -> ast.Module:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _docstring(module: str) -> str:
    return ast.get_docstring(_tree(module)) or ""


def _definition(module: str, name: str) -> tuple[str, str]:
    """Return the full name of a definition, which may be in another module, and its docstring."""
    tree = _tree(module)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name == name:
            return f"{module}.{name}", ast.get_docstring(statement) or ""
    for node in ast.walk(tree):  # imports may stand under `if TYPE_CHECKING`
        if isinstance(node, ast.ImportFrom) and any(alias.name == name and not alias.asname for alias in node.names):
            return _definition(str(node.module), name)
    return f"{module}.{name}", ""


def _summary(docstring: str) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join(docstring.partition("\n\n")[0].split())
