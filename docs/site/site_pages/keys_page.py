"""The page `docs/keys.md`: every key of a scenario on one page, for readers of the repository.

The site has a page for each section instead (`scenario_keys`), and `repository_pages` leads its links there.
"""

import re
from collections.abc import Iterator

from edgefl.cli.listing import CATALOGUES, PLACES
from edgefl.scenario import presets
from edgefl.scenario.key_index import Part, inherited_keys, parts_of
from edgefl.scenario.sections import Sections
from edgefl.scenario.sweep_file import SweepFile
from site_pages.key_tables import HEAD, key_rows
from site_pages.markdown_text import code, page, table

OWN = "keys.md"
INTRODUCTION = """\
Every key of a scenario file ([how it is written](scenario.md)). `make pages` writes this page from the code. Units
stand at the end of a key's name. *Per device* is one number for all devices, or a distribution: `{uniform: [a, b]}`,
`{normal: [mean, std]}`, `{lognormal: [mean, sigma]}`, `{choice: [a, b]}`, `{file: devices.csv, column: cpu_hz}`.
`make docs` builds the whole reference, `build/site/index.html`.
"""
PRESETS = """\
`edgefl list NAME` prints the keys of a preset and their sources; the files lie in `edgefl/scenario/presets`. A key
beside `preset` wins over the preset's.
"""
MEMBERS = (
    "`edgefl list NAME` prints a member's keys. A class of yours may stand instead of a name ([how](your-own.md))."
)
RULES = """\
Sections that are each valid may exclude each other. `edgefl validate FILE` names the key, the reason and a remedy. The
rules lie in `edgefl/scenario/rules`.
"""
COMMANDS = "`edgefl VERB --help` prints the options of a verb; [examples](command-line.md)."
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SHORT = {"number for each device": "per device", " or mapping": ", or keys below", "its keys' defaults": ""}


def text() -> str:
    """Return the text of the page."""
    sections = parts_of(Sections, "")
    names = {part.key for part in sections}
    top = [row for row in key_rows(Sections, "", OWN) if row[0] not in names]
    parts = [INTRODUCTION, "## The file", _table(top)]
    for part in sections:
        parts += [f"## {part.key}", _table(_rows(part, "", None))]
    parts += ["## Sweep file", _table(key_rows(SweepFile, "", OWN))]
    parts += ["## Presets", PRESETS, _presets()]
    members = [[code(PLACES[kind]), ", ".join(map(code, found.members))] for kind, found in CATALOGUES.items()]
    parts += ["## Catalogues", MEMBERS, table(("key", "members"), members)]
    parts += ["## What goes with what", RULES, "## Command line", COMMANDS]
    return page("Keys of scenarios", *parts)


def _rows(part: Part, prefix: str, outer: Part | None) -> Iterator[list[str]]:
    """Return the rows of a section, and behind each key those of the section that it holds."""
    inherited = inherited_keys(outer.section if outer else None, part.section)
    inner = parts_of(part.section, part.key)
    for name, *cells in key_rows(part.section, part.key, OWN, inherited):
        yield [prefix + name, *cells]
        for one in inner:
            if one.key == f"{part.key}.{name}" and not inherited:
                yield from _rows(one, f"{prefix}{name}.", part)


def _table(rows: Iterator[list[str]] | list[list[str]]) -> str:
    """Return a table without links, in few words."""
    short = []
    for name, *cells in dict.fromkeys(map(tuple, rows)):
        texts = []
        for cell in cells:
            text = _LINK.sub(r"\1", cell)
            for long, brief in _SHORT.items():
                text = text.replace(long, brief)
            texts.append(text)
        short.append([code(name), *texts])
    return table(HEAD, short)


def _presets() -> str:
    return "".join(f"- `{section}`: {', '.join(map(code, presets.names(section)))}\n" for section in presets.SECTIONS)
