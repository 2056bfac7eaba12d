"""The page of the scenarios and sweeps that come with edgefl."""

from collections.abc import Mapping
from pathlib import Path

from edgefl.core.paths import shipped_folder
from edgefl.scenario import shipped
from site_pages.markdown_text import escaped, page, table

OWN = "reference/scenarios.md"
INTRODUCTION = """\
`edgefl run NAME` runs a scenario, `edgefl sweep NAME` a sweep, and `edgefl init NAME` copies its file into the working
directory. The numbered ones, from `00-hello` on, form a ladder: each adds one idea.
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path in docs/."""
    scenarios = shipped.scenarios()
    ladder = {name: path for name, path in scenarios.items() if name[:2].isdigit()}
    others = {name: path for name, path in scenarios.items() if name not in ladder}
    parts = [
        f"## The ladder\n{_table(ladder)}",
        f"## Settings of papers, and more\n{_table(others)}",
        f"## Sweeps\n{_table(shipped.sweeps())}",
    ]
    return {OWN: page("Scenarios that come with edgefl", INTRODUCTION, *parts)}


def _table(files: Mapping[str, Path]) -> str:
    rows = []
    for name, path in files.items():
        place = path.relative_to(shipped_folder()).as_posix()
        rows.append([f"[`{name}`](../../scenarios/{place})", escaped(shipped.about(path))])
    return table(("name", "description"), rows)
