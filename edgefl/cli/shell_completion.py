"""Completion scripts for shells, derived from the command line's parser."""

import argparse
from collections.abc import Iterator
from typing import Any

NAMES_OF = {
    "scenario": "scenarios",
    "sweep": "sweeps",
    "files": "both",
    "name": "both",
    "names": "datasets",
    "recipe": "recipes",
    "topic": "topics",
    "kind": "kinds",
}
"""The kind of names that a positional argument takes, besides files."""


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of a parser, with all verbs, options, and names of scenarios, datasets, recipes."""
    import shtab

    for action in _actions(parser):
        kind = NAMES_OF.get(action.dest)
        if not action.option_strings and kind is not None:
            action.complete = _completion(kind)  # type: ignore[attr-defined]  # shtab's own attribute
        elif action.type is not None or action.metavar in {"DIR", "FILE"}:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    text: str = shtab.complete(parser, shell)
    return text


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to walk a parser; shtab does the same
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for verb in action.choices.values():
                yield from _actions(verb)


def _completion(kind: str) -> dict[str, Any]:
    """Return shtab's description of an argument that takes names; and files, if it names scenarios."""
    names = _names(kind)
    function = f"_edgefl_{kind}"
    bash = f'{function}() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'
    zsh = f"{function}() {{ _alternative 'names:name:({names})' 'files:file:_files' }}"
    tcsh = "f"
    if kind not in {"scenarios", "sweeps", "both"}:
        bash = f'{function}() {{ compgen -W "{names}" -- "$1"; }}'
        zsh = f"{function}() {{ _values '{kind.removesuffix('s')}' {names} }}"
        tcsh = f"({names})"
    return {"bash": function, "zsh": function, "tcsh": tcsh, "preamble": {"bash": bash, "zsh": zsh}}


def _names(kind: str) -> str:
    if kind == "recipes":
        from edgefl.reproductions.library import Library

        return " ".join([*Library().papers, *Library().names])
    if kind == "topics":
        from edgefl.scenario.key_index import keys_of_sections, places

        members = [name for catalogue in places().values() for name in catalogue.members]
        return " ".join(dict.fromkeys([*keys_of_sections(), *members]))
    if kind == "kinds":
        from edgefl.scenario.key_index import places

        kinds = [catalogue.kind for catalogue in places().values()]
        return " ".join([*kinds, "presets", "scenarios", "recipes"])
    if kind == "datasets":
        from edgefl.learning.datasets.remotes import REMOTES

        return " ".join(REMOTES)
    from edgefl.scenario import shipped

    names: list[str] = []
    if kind != "sweeps":
        names += shipped.scenarios()
    if kind != "scenarios":
        names += shipped.sweeps()
    return " ".join(names)
