"""`edgefl explain`."""

import argparse
from typing import Any

from edgefl.cli.common import add_options
from edgefl.cli.exits import EXIT_DONE
from edgefl.cli.json_output import print_json


def add_explain(verbs: Any) -> None:
    """Add `edgefl explain` and its options."""
    about = "explain a key, a member, a result column or a preset: meaning, unit, default, bounds and an example"
    parser = verbs.add_parser("explain", help=about, description=about)
    add_options(parser, "explain")
    add_options(parser, "json")
    parser.set_defaults(verb=_explain)


def _explain(options: argparse.Namespace) -> int:
    from edgefl.cli.explanations import Explanation, explain, text_of
    from edgefl.core.errors import InputError

    found: dict[str, list[Explanation]] = {}
    faults: list[str] = []
    phrase = "_".join(options.topic)
    try:
        found[phrase] = explain(phrase)  # `edgefl explain learning rate`
    except InputError as error:
        if len(options.topic) == 1:
            faults += error.faults
    if not found and len(options.topic) > 1:
        for word in options.topic:
            try:
                found[word] = explain(word)
            except InputError as error:
                faults += error.faults
    if faults:
        raise InputError(*faults)
    if options.json:
        print_json(
            {"names": [{"name": word, "found": [one.as_json() for one in all_]} for word, all_ in found.items()]}
        )
    else:
        print("\n\n".join(text_of(word, all_) for word, all_ in found.items()))
    return EXIT_DONE
