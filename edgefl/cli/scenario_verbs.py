"""The verbs before a run: `edgefl validate`, `init`, `list`, `schema`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import (
    add_options,
    begin,
    columns,
    warn_of_groups,
    warn_of_implausible,
    warn_of_points,
    warn_of_worlds,
)
from edgefl.cli.exits import EXIT_DONE
from edgefl.cli.json_output import print_json
from edgefl.core.errors import InputError, Unavailable

if TYPE_CHECKING:
    from edgefl.core.plugin_import import Access


def add_validate(verbs: Any) -> None:
    """Add `edgefl validate` and its options."""
    about = "check scenario and sweep files, and print every fault with its file and line"
    parser = verbs.add_parser("validate", help=about, description=about)
    add_options(parser, "validate files")
    plugins = parser.add_mutually_exclusive_group()
    add_options(plugins, "validate")
    add_options(plugins, "no-plugins")
    add_options(parser, "json")
    parser.set_defaults(verb=_validate)


def _validate(options: argparse.Namespace) -> int:
    from edgefl.core.plugin_import import Access
    from edgefl.scenario import is_sweep, load_sweep

    # One wrong file must not hide the faults of others.
    faults: list[str] = []
    checked: list[dict[str, Any]] = []
    begin(quiet=False)
    warn_of_groups()
    for file in options.files:
        try:
            unchecked = ""
            access = Access()
            if access.mode == "import" and not options.imports:
                access = Access(mode="skip")
            if is_sweep(file):
                sweep = load_sweep(file, access=access)  # which checks each point as a scenario
                warn_of_points(sweep.points, worlds=True)
            else:
                unchecked = _rehearse(file, access)
            if access.skipped:
                unchecked = _not_imported(access.skipped)
            checked.append({"file": file, "ok": True, "unchecked": unchecked.removeprefix(", but ") or None})
            if not options.json:
                print(f"{file}: ok{unchecked}")
        except InputError as error:
            faults += error.faults
            checked.append({"file": file, "ok": False, "unchecked": None})
    options.document = {"files": checked}  # to which `edgefl.cli.main` adds the faults
    if faults:
        raise InputError(*faults)
    if options.json:
        print_json({**options.document, "faults": []})
    return EXIT_DONE


def _not_imported(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return f", but {names[0]} was not imported, so its keys were not checked (--import)"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f", but {listed} were not imported, so their keys were not checked (--import)"


def _rehearse(file: str, access: Access) -> str:
    """Check a scenario, also against its data if they are there; return what was not checked, or ""."""
    from edgefl.core.plugin_import import NotImported
    from edgefl.runs.assembly import rehearse
    from edgefl.scenario import load_with_source

    scenario, source = load_with_source(file, access=access, needs_files=True)
    warn_of_implausible([scenario], source.place)
    unchecked = ""
    with source.placing():
        try:
            rehearse(scenario, access)
        except NotImported:
            pass  # the caller says what was not imported
        except Unavailable as error:  # a scenario is not wrong because its data are missing on this machine
            unchecked = f", but not checked against its data: {str(error).partition('. ')[0]}"
    warn_of_worlds([scenario], source.place)  # a refused scenario gets its fault, and no warning
    return unchecked


def add_init(verbs: Any) -> None:
    """Add `edgefl init` and its options."""
    about = "copy a scenario that comes with edgefl into this folder, as a start"
    parser = verbs.add_parser("init", help=about, description=about)
    add_options(parser, "init")
    parser.set_defaults(verb=_init)


def _init(options: argparse.Namespace) -> int:
    from edgefl.scenario import is_sweep, shipped
    from edgefl.scenario.jsonschema import check_replaceable_schema, write_schema

    schema_file = Path(shipped.schema_file(options.name))
    check_replaceable_schema(schema_file)
    file = shipped.copy_to(options.name, Path())
    write_schema(schema_file)
    verb = "sweep" if is_sweep(file) else "run"
    print(f"{file}: written, with {schema_file}, which lets editors complete and explain its keys.")
    print(f"Next: change it (docs/scenario.md), then\n  edgefl validate {file}\n  edgefl {verb} {file}")
    return EXIT_DONE


def add_list(verbs: Any) -> None:
    """Add `edgefl list` and its options."""
    about = "list algorithms, models and other choices, a line each with its source; or describe one of them"
    parser = verbs.add_parser("list", help=about, description=about)
    add_options(parser, "list")
    add_options(parser, "json")
    parser.set_defaults(verb=_list)


def _list(options: argparse.Namespace) -> int:
    from edgefl.cli.listing import PLACES, entries, kind_of, kinds, overview
    from edgefl.cli.member_page import kinds_of

    begin(quiet=False)
    warn_of_groups()
    kind = options.kind
    if kind is not None and kind not in kinds() and (options.member or not kinds_of(kind)):
        kind = kind_of(kind) or kind
    if kind is None:
        found = overview()
        if options.json:
            print_json({"kinds": [one._asdict() for one in found]})
        else:
            heads = ("kind", "key", "names", "what it is")
            print("\n".join(columns([heads, *((one.kind, one.key, str(one.size), one.meaning) for one in found)])))
    elif options.member is not None or kind not in kinds():
        text = _pages(kind, options.member)
        if options.json:
            from edgefl.cli.explanations import explain

            name = options.member or kind
            found_here = [one for one in explain(name) if not options.member or one.where == PLACES[kind]]
            print_json({"names": [{"name": name, "found": [one.as_json() for one in found_here]}]})
        else:
            print(text)
    elif options.json:
        names = [{"name": name, "about": about} for name, about in entries(kind)]
        print_json({"kind": kind, "key": PLACES.get(kind), "names": names})
    else:
        print("\n".join(columns(entries(kind))))
    return EXIT_DONE


def _pages(kind: str, member: str | None) -> str:
    """Return the page of a member of a kind, or of the members named `kind` in all kinds."""
    from edgefl.cli.listing import CATALOGUES, entries, kinds
    from edgefl.cli.member_page import kinds_of, names_of, page, preset_pages
    from edgefl.core.section import nearest

    if member is None or kind == "presets":
        found = kinds_of(kind)
        if pages := preset_pages(member or kind):
            return "\n\n".join(pages)
        if not found:
            members = [name for catalogue in CATALOGUES.values() for name in catalogue.members]
            names = [*kinds(), *members, *(name for name, _ in entries("presets"))]
            known = ", ".join(kinds())
            hint = _explained(kind) or nearest(kind, names)
            raise InputError(f'list: unknown kind "{kind}"{hint}; known: {known}, and what they list')
        return "\n\n".join(page(one, kind) for one in found)
    if kind not in CATALOGUES:
        raise InputError(f'list: "{kind}" lists no {member}{nearest(kind, CATALOGUES)}; known: {", ".join(CATALOGUES)}')
    if member not in names_of(kind):
        known = ", ".join(names_of(kind))
        raise InputError(f'list {kind}: unknown "{member}"{nearest(member, names_of(kind))}; known: {known}')
    return page(kind, member)


def _explained(word: str) -> str:
    """Return a hint that a word is something else that `edgefl explain` knows; "" if it knows nothing."""
    from edgefl.cli.explanations import explain

    try:
        found = explain(word)
    except InputError:
        return ""
    return f": `edgefl explain {word}` describes {found[0].name}"


def add_schema(verbs: Any) -> None:
    """Add `edgefl schema`."""
    about = "print the JSON Schema of a scenario file, for editors to complete and check keys"
    parser = verbs.add_parser("schema", help=about, description=about)
    parser.add_argument("--sweep", action="store_true", help="that of a sweep file")
    parser.set_defaults(verb=_schema)


def _schema(options: argparse.Namespace) -> int:
    import json

    from edgefl.scenario.jsonschema import schema, sweep_schema

    print(json.dumps(sweep_schema() if options.sweep else schema(), indent=2))
    return EXIT_DONE
