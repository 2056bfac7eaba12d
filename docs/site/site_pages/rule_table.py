"""The page of the rules between sections: what goes with what."""

from edgefl.core.section import shown
from edgefl.scenario.facts.words import NAMES
from edgefl.scenario.rules.rule import NAMED, OUT, Remedy, Rule
from edgefl.scenario.rules.table import RULES
from site_pages.markdown_text import code, escaped, page, table

OWN = "reference/what-goes-with-what.md"
INTRODUCTION = """\
Sections of a scenario that are each valid may exclude each other. Each row is a rule: if all of the first column holds,
`edgefl` refuses the key in the second column with the reason and the remedies, each of which is enough. If a scenario
breaks several rules, the first one is reported. Words *in italics* stand for values of the scenario, such as the name
of its policy.
"""
HEAD = ("if", "refused key", "reason", "remedies")
BY_ITSELF = "see the reason"
ALWAYS = "always"


def pages() -> dict[str, str]:
    """Return the text of the page by its path in docs/."""
    sections: dict[str, list[list[str]]] = {}
    for rule in RULES:
        sections.setdefault(rule.key.partition(".")[0], []).append(_row(rule))
    parts = [f"## `{section}`\n{table(HEAD, rows)}" for section, rows in sorted(sections.items())]
    return {OWN: page("What goes with what", INTRODUCTION, *parts)}


def _row(rule: Rule) -> list[str]:
    facts = [escaped(fact.said) for fact in rule.facts]
    if callable(rule.reason):
        first_line = (rule.reason.__doc__ or "").partition("\n")[0]
        reason = escaped(first_line.removeprefix("Return why ").removesuffix("."))
    else:
        reason = _with_names(rule.reason)
    key = code(rule.key)
    if rule.subkey is not None:
        key = f"a key of {key}"
    remedies = list(dict.fromkeys(_told(remedy, rule.key) for remedy in rule.remedies))
    return [" and ".join(facts) or ALWAYS, key, reason, "; or ".join(remedies) or BY_ITSELF]


def _told(remedy: Remedy, named: str) -> str:
    """Return a remedy in the words of the rule's message."""
    if remedy.said:
        text = _with_names(remedy.said)
    else:
        text = " and ".join(_change(key, value, named) for key, value in remedy.changes.items())
    if remedy.offered is None:
        return text
    return f"{text} (if {escaped(remedy.offered.said)})"


def _change(key: str, value: object, named: str) -> str:
    name = code(key)
    if key in {named, NAMED}:
        name = "it"
    if value == OUT:
        return f"leave {name} out"
    text = _with_names(value) if isinstance(value, str) else shown(value)
    return f"set {name} to {text}"


def _with_names(text: str) -> str:
    """Return a text of a rule with its names between braces in italics."""
    words = {name: f"\0{name.replace('_', ' ')}\0" for name in NAMES}
    return escaped(text.format_map(words)).replace("\0", "*")
