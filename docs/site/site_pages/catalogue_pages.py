"""The pages of catalogues: every member with its description, source, keys and an example."""

import inspect
from typing import Any

from edgefl.cli import guides
from edgefl.cli.listing import CATALOGUES, PLACES
from edgefl.cli.member_page import NO_EXAMPLE, example
from edgefl.core.catalogue import Catalogue
from edgefl.scenario.key_index import parts_of
from site_pages.key_tables import CATALOGUES as FOLDER
from site_pages.key_tables import inner_tables, key_table
from site_pages.markdown_text import code, escaped, link, page, table
from site_pages.wide_code import fitted

INDEX = f"{FOLDER}/README.md"
TITLES = {
    "algorithms": "Algorithms",
    "policies": "Server policies",
    "selection": "Selections",
    "models": "Models",
    "datasets": "Datasets",
    "partitions": "Partitions",
    "drift": "Concept drift",
    "schedules": "Schedules of the learning rate",
    "initialisation": "Initial models of sessions",
    "mobility": "Mobility",
    "churn": "Churn",
    "dvfs": "Clock rules",
    "power_control": "Uplink power control",
    "propagation": "Path loss",
    "fading": "Fading",
    "rates": "Rates",
    "codecs": "Codecs",
    "allocation": "Allocations of the band",
    "antenna": "Antennas",
    "errors": "Packet errors",
    "traces": "Recorded links",
    "background": "Background traffic",
    "losses": "Losses",
    "measures": "Measures",
    "multiple_access": "Multiple access",
    "csi": "Channel knowledge",
    "optimisers": "Joint optimisers",
}

INTRODUCTION = """\
Some keys of a scenario take the name of a member of a catalogue: `algorithm: fedprox`, or with the member's keys
`algorithm: {kind: fedprox, mu: 0.1}`. A class of yours may replace a name ([your own](../../your-own.md)).
`edgefl list KIND` prints a catalogue, `edgefl list NAME` a member.
"""


def pages() -> dict[str, str]:
    """Return the texts of the pages by their paths in docs/."""
    texts = {INDEX: _index()}
    for kind, catalogue in CATALOGUES.items():
        texts[f"{FOLDER}/{kind}.md"] = _catalogue_page(kind, catalogue)
    return texts


def _index() -> str:
    rows = []
    for kind, catalogue in CATALOGUES.items():
        names = ", ".join(f"`{name}`" for name in catalogue.members)
        rows.append([link(TITLES[kind], INDEX, f"{FOLDER}/{kind}.md"), f"`{PLACES[kind]}`", names])
    return page("Catalogues", INTRODUCTION, table(("catalogue", "key", "members"), rows))


def _catalogue_page(kind: str, catalogue: Catalogue[Any]) -> str:
    own = f"{FOLDER}/{kind}.md"
    guide = link("The guide", own, guides.guide_of_key(PLACES[kind]).removeprefix("docs/"))
    introduction = (
        f"The values of the key `{PLACES[kind]}`. {guide} explains when to choose which; "
        f"`edgefl list {kind}` prints them."
    )
    rows = [[link(f"`{name}`", own, f"{own}#{name}"), escaped(catalogue.summary(name))] for name in catalogue.members]
    members = [_member(kind, name, own) for name in catalogue.members]
    classes = [catalogue.load(name) for name in catalogue.members]
    inner = inner_tables([part for cls in classes for part in parts_of(cls, PLACES[kind])], own)
    return page(TITLES[kind], introduction, table(("name", "description"), rows), *members, *inner)


def _member(kind: str, name: str, own: str) -> str:
    """Return the section of a member."""
    cls = CATALOGUES[kind].load(name)
    paragraphs = [escaped(text) for text in inspect.cleandoc(cls.__doc__ or "").split("\n\n")]
    source = f"{cls.__module__.replace('.', '/')}.py"
    parts = [f"## {name}", *paragraphs, key_table(cls, PLACES[kind], own)]
    if (kind, name) not in NO_EXAMPLE:
        parts.append(f"```yaml\n{fitted(example(kind, name))}\n```")
    parts.append(f"Class {code(cls.__qualname__)} in {code(source)}.")
    return "\n\n".join(part.strip("\n") for part in parts)
