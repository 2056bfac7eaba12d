"""The page of cases from the field: inputs and habits of users of other simulators, and what edgefl makes of them."""

import re
from pathlib import Path
from typing import NamedTuple

import yaml

from site_pages.markdown_text import escaped, page, table

GITHUB = "https://github.com"
FOLDER = Path(__file__).parents[3] / "tests" / "cases" / "field"

AREAS = {
    "movement": "Movement traces",
    "files": "Files",
    "radio": "Radio",
    "habits": "Numbers, messages and agents",
    "lifetimes": "Batteries and ends of runs",
    "learning": "Learning",
    "labels": "Labels",
    "flower": "Flower apps",
    "flower-apps": "Flower's examples",
}

OUTCOMES = {
    "works": "works",
    "refused": "refused, with a message that says what to write",
    "differs": "differs from what the source expects, for the reason given",
}

HABIT = "habit"  # the source of a case without another
INTRODUCTION = """\
Users of network simulators and of federated-learning frameworks report what breaks: files as other programs write them,
conventions, habits. The {count} cases below come from such reports and from descriptions of file formats, named below
each case; the others are habits of newcomers. Each case was tried in edgefl with an input of the same form, and a test
checks its outcome; `tests/cases/field/` names the test.
"""


class Case(NamedTuple):
    """A case from the field; all but the last two are texts with code in backticks."""

    title: str
    source: str
    input: str
    outcome: str
    kind: str  # one of `OUTCOMES`
    test: str  # path::function, of the test that holds the outcome


def cases() -> dict[str, list[Case]]:
    """Return the cases by area, in the order of the page."""
    found = {}
    for area in AREAS:
        entries = yaml.safe_load((FOLDER / f"{area}.yaml").read_text(encoding="utf-8"))
        found[area] = [Case(**entry) for entry in entries]
    return found


def text() -> str:
    """Return the page."""
    by_area = cases()
    every = [case for of_area in by_area.values() for case in of_area]
    counts = [(said, str(sum(case.kind == kind for case in every))) for kind, said in OUTCOMES.items()]
    parts = [INTRODUCTION.format(count=len(every)), table(("outcome", "cases"), counts)]
    for area, of_area in by_area.items():
        rows = table(("case", "input", "outcome"), map(_row, of_area))
        parts.append(f"## {AREAS[area]}\n{rows}")
    return page("Cases from the field", *parts)


def _row(case: Case) -> list[str]:
    title = escaped(case.title)
    if case.source != HABIT:
        title = f"{title}<br>{_linked(case.source)}"
    return [title, escaped(case.input), escaped(_outcome(case))]


def _linked(source: str) -> str:
    """Return a source with links to the threads (owner/name#1) and pages that it names."""
    text = escaped(source)
    text = re.sub(r"https?://([^/\s]+)[^\s,]*", lambda found: f"[{found[1]}]({found[0]})", text)
    return re.sub(r"([\w.-]+/[\w.-]+)#(\d+)", rf"[\g<0>]({GITHUB}/\1/issues/\2)", text)


def _outcome(case: Case) -> str:
    if case.kind == "works" or case.outcome.startswith(case.kind):
        return case.outcome
    return f"{case.kind}: {case.outcome}"
