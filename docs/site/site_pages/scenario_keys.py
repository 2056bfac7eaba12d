"""The pages of scenario files: the sections, and every key of each."""

import inspect

from edgefl.cli import guides
from edgefl.core.section import Section
from edgefl.scenario.key_index import Part, parts_of
from edgefl.scenario.sections import Sections
from edgefl.scenario.sweep_file import SweepFile
from site_pages.key_tables import inner_tables, key_table, summary
from site_pages.markdown_text import escaped, link, page, table

FOLDER = "reference/scenario"
INDEX = f"{FOLDER}/README.md"

INTRODUCTION = """\
A scenario is a YAML file ([how it is written](../../scenario.md)). These pages have all of its keys. A key's unit is at
the end of its name: `_s` seconds, `_hz` hertz, `_m` metres, `_j` joules, `_w` watts, `_dbm` and `_db` decibels.
"""
TARGETS = """\
A list of accuracies whose time and energy are reported: numbers from 0 to 1, such as `0.9`, or mappings with the keys
below.
"""
PER_DEVICE = """\
## Numbers of each device
A *number for each device* is one number for all devices, or a distribution that each device draws from once; the same
seed gives the same draws.

| value | number of a device |
| --- | --- |
| `1e9` | this number |
| `{uniform: [a, b]}` | any number from a to b |
| `{normal: [mean, std]}` | from a normal distribution |
| `{lognormal: [mean, sigma]}` | e to the power of a normal draw |
| `{choice: [a, b, c]}` | one of these, each equally likely |
| `{file: devices.csv, column: cpu_hz}` | the number in row i, for device i |
| `{fedscale: FILE, median: M}`, `{ai_benchmark: FILE, median: M}` | a published phone's ([devices](../../devices.md)) |
"""


def pages() -> dict[str, str]:
    """Return the texts of the pages by their paths in docs/."""
    texts = {INDEX: _index()}
    for part in parts_of(Sections, ""):
        texts[f"{FOLDER}/{part.key}.md"] = _section_page(part)
    own = f"{FOLDER}/sweep-file.md"
    about = escaped(inspect.cleandoc(SweepFile.__doc__ or ""))
    guide = link("Sweeps", own, "sweeps.md")
    texts[own] = page("Sweep files", f"{about} {guide} has examples.", key_table(SweepFile, "", own))
    return texts


def _index() -> str:
    parts = [INTRODUCTION, "## The file\n" + key_table(Sections, "", INDEX), _sections_table(), PER_DEVICE]
    return page("Scenario keys", *parts)


def _sections_table() -> str:
    rows = [_row(f"`{part.key}`", part.key, part.section) for part in parts_of(Sections, "")]
    rows.append(_row("sweep files", "sweep-file", SweepFile))
    return "## Sections\n" + table(("page", "content"), rows)


def _row(text: str, name: str, section: type[Section]) -> list[str]:
    return [link(text, INDEX, f"{FOLDER}/{name}.md"), escaped(summary(section))]


def _section_page(part: Part) -> str:
    own = f"{FOLDER}/{part.key}.md"
    guide = ""
    if part.key in guides.guides():
        guide = link("How it is used", own, guides.guides()[part.key]) + "."
    about = TARGETS if part.key == "targets" else escaped(summary(part.section))
    texts = [f"{about.strip()} {guide}".strip(), key_table(part.section, part.key, own)]
    if part.section.inlined:
        members = link(
            f"Each {part.section.inlined} has keys of its own", own, f"reference/catalogues/{part.section.inlined}s.md"
        )
        texts.append(f"{members}, beside these.")
    texts += inner_tables(parts_of(part.section, part.key), own, part)
    return page(f"`{part.key}`", *texts)
