"""Links between the page of a sweep and the pages of its runs: relative ones, which stay inside the sweep's folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from edgefl.core.errors import InputError
from edgefl.results.report.shared.templates import Html
from edgefl.results.report.sweep.study import Study, is_sweep, name_and_folders

PAGE = "report.html"
MOST_LINKED = 20  # runs of a point, in one cell of a table
MOST_LEVELS = 3  # from a run's folder up to that of its sweep


class Link(NamedTuple):
    """The page of a run, and its seed."""

    address: str
    seed: str


def pages_of_runs(study: Study, out: Path) -> dict[int, str]:
    """Return the addresses of the pages of runs, by their rows in the index.

    The page ``out`` links to them; outside the sweep's folder it has no links.
    """
    here = study.folder.resolve()
    if out.parent.resolve() != here:
        return {}
    addresses = {}
    for row in study.every_finished_row:
        try:
            folder = study.run_folder(row)
        except InputError:  # it lies outside the sweep's folder, so the page must not lead there
            continue
        page = (folder / PAGE).resolve()
        if page.is_file() and page.is_relative_to(here):
            addresses[row] = _address(page, here)
    return addresses


def run_links(study: Study, addresses: Mapping[int, str], point: int) -> list[Link]:
    """Return links to the pages of a point's runs; of too many the first ones, and one without an address."""
    rows = [row for row in study.finished_rows[point] if row in addresses]
    links = [Link(addresses[row], f"{study.numbers['seed'][row]:.0f}") for row in rows[:MOST_LINKED]]
    if len(rows) > MOST_LINKED:
        links.append(Link("", ""))
    return links


def sweep_link(folder: Path, out: Path) -> Html:
    """Return a link from a page in the result folder of a run to the page of its sweep; an empty text without one."""
    here = folder.resolve()
    if out.parent.resolve() != here:
        return Html()
    for above in list(here.parents)[:MOST_LEVELS]:
        page = (above / PAGE).resolve()
        if not is_sweep(above) or not page.is_file() or page.parent != above:
            continue
        try:
            name, folders = name_and_folders(above)
        except InputError:  # a damaged sweep must not prevent the page of a run
            return Html()
        if here.relative_to(above).as_posix() in folders:
            return Html('<a href="{}">sweep {}</a>').format(_address(page, here), name)
    return Html()


def _address(page: Path, folder: Path) -> str:
    """Return the address of a page as links in a folder give it; signs that have a meaning there are quoted."""
    return quote(Path(os.path.relpath(page, folder)).as_posix())
