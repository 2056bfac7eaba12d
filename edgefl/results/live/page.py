"""The live page: the page of a result folder in its current state, with a script that keeps it up to date."""

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.results.live.board import Shown
from edgefl.results.report import page
from edgefl.results.report.shared.read import load_all
from edgefl.results.report.shared.resources import as_json
from edgefl.results.report.shared.templates import Html, render
from edgefl.results.run_folder import REPORT_FILE

DATA_OPENS = '<script type="application/json" id="data">'
TEMPLATE = "results/live/page.html.j2"
SETTING_UP = "The run is being set up: data are loaded and divided, and a plan of training is chosen."
NEVER_BEGAN = "The run ended before its first round. The terminal in which it was started says why."


class PageMaker:
    """Makes the page of a run's result folder, version after version."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder = folder
        self._title = title
        self._version = 0

    def setting_up(self) -> Shown:
        """Return the page of a run whose folder is not open yet."""
        return self._of_text(SETTING_UP)

    def now(self) -> Shown | None:
        """Return the page of the folder's current content; None if it holds no run at this moment."""
        try:
            return self._of_folder()
        except InputError:  # the run is about to write its first files, or they have been removed
            return None

    def last(self, *, has_rounds: bool) -> Shown:
        """Return the page at the end of the run, or a page that says why there is none."""
        text = NEVER_BEGAN
        if has_rounds:
            try:
                return self._of_folder(ended=True)
            except InputError as error:  # a file has been removed or changed
                text = str(error)
        return self._of_text(text, ended=True)

    def _of_folder(self, *, ended: bool = False) -> Shown:
        runs = load_all([self._folder], so_far=True)
        return self._shown(partial(page.render, runs, template=TEMPLATE, parent="page.html.j2"), ended=ended)

    def _of_text(self, text: str, *, ended: bool = False) -> Shown:
        values = {"parent": "results/live/text.html.j2", "title": self._title, "text": text}
        return self._shown(partial(render, TEMPLATE, **values), ended=ended)

    def _shown(self, make: Callable[..., Html], *, ended: bool) -> Shown:
        self._version += 1
        facts = {"version": self._version, "ended": ended, "file": str(self._folder / REPORT_FILE)}
        script = (files("edgefl.results.live") / "live.js").read_text(encoding="utf-8")
        html = str(make(live=facts, live_script=script))
        state = {**facts, "main": _between(html, "<main", "</main>").partition(">")[2]}
        if DATA_OPENS in html:
            state["data"] = _between(html, DATA_OPENS, "</script>")
        return Shown(self._version, html.encode(), as_json(state).encode())


def _between(html: str, opens: str, closes: str) -> str:
    """Return the content between two texts of the page, neither of which can occur in a run's name or error."""
    begin = html.index(opens) + len(opens)
    return html[begin : html.index(closes, begin)]
