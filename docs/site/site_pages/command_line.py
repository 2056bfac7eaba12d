"""The page of the command line: every verb and option."""

import argparse
import re
from collections.abc import Iterator

from edgefl.cli import EPILOG, command_parser
from site_pages.markdown_text import code, escaped, link, page, table, words
from site_pages.wide_code import fitted

OWN = "reference/command-line.md"
INTRODUCTION = """\
`edgefl VERB --help` prints the same in the terminal. [The guide](../command-line.md) has examples.
"""
_PAGE_NAME = re.compile(r"docs/([\w/-]+\.md)")
_HELP = "--help"


def pages() -> dict[str, str]:
    """Return the text of the page by its path in docs/."""
    parser = command_parser()
    verbs = list(_verbs(parser, parser.prog))
    rows = [[link(code(name), OWN, f"{OWN}#{name.replace(' ', '-')}"), _text(about)] for name, about, _ in verbs]
    sections = [_section(name, about, verb) for name, about, verb in verbs]
    exits = f"## Exit codes\n{_text(EPILOG.partition(': ')[2])}"
    return {OWN: page("Verbs and options", INTRODUCTION, table(("verb", "description"), rows), *sections, exits)}


def _verbs(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Return each verb without verbs below it: its full name, help and parser."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to ask
        if not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        for verb, inner in action.choices.items():
            full_name = f"{name} {verb}"
            deeper = list(_verbs(inner, full_name))
            if deeper:
                yield from deeper
            else:
                yield full_name, inner.description or "", inner


def _section(name: str, about: str, parser: argparse.ArgumentParser) -> str:
    """Return the section of a verb: its usage and options."""
    actions = [action for action in parser._actions if _HELP not in action.option_strings]  # noqa: SLF001
    arguments = [_argument(action) for action in actions if not action.option_strings]
    options = any(action.option_strings for action in actions)
    required = [_spelling(action) for action in actions if action.option_strings and action.required]
    usage = " ".join([name, *arguments, *required, *(["[OPTION ...]"] if options else [])])
    rows = [[code(_spelling(action)), _text(_help(action))] for action in actions]
    parts = [f"## {name}", _text(about[:1].upper() + about[1:]) + ".", f"```sh\n{fitted(usage)}\n```"]
    if rows:
        parts.append(table(("argument or option", "meaning"), rows).strip("\n"))
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> str:
    """Return a positional argument as a usage line has it."""
    name = _value(action)
    if action.nargs == "?":
        return f"[{name}]"
    if action.nargs == "*":
        return f"[{name} ...]"
    if action.nargs == "+":
        return f"{name} [{name} ...]"
    return name


def _spelling(action: argparse.Action) -> str:
    """Return an option with its value."""
    if not action.option_strings:
        return _argument(action)
    value = ""
    if action.nargs != 0:
        value = f" {_argument(action)}"
    return ", ".join(action.option_strings) + value


def _value(action: argparse.Action) -> str:
    """Return the placeholder of an argument's value."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return action.dest.upper()


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def _text(text: str) -> str:
    """Return a help text with links for the names of pages."""
    return _PAGE_NAME.sub(lambda match: link(words(match[1]), OWN, match[1]), escaped(text))
