"""The live page: the page of a run's result folder as it is now, with a script that keeps it up to date."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.results.live.board import Shown
from edgefl.results.report.page import render
from edgefl.results.report.shared.read import load_all
from edgefl.results.report.shared.resources import as_json, resource
from edgefl.results.run_folder import REPORT_FILE

STRICT_POLICY = "default-src 'none';"  # of a page on disk
SERVED_POLICY = "default-src 'none'; connect-src 'self';"
DATA_OPENS = '<script type="application/json" id="data">'
# Browsers keep the place of what they see when something above it changes its height: here all of it is replaced.
STYLE = "<style>html { overflow-anchor: none; } #live { max-width: 1296px; margin: 18px auto 0; }</style>"
ICON = '<link rel="icon" href="data:,">'  # without it browsers ask for /favicon.ico
SETTING_UP = "The run is being set up: data are loaded and divided, and a plan of training is chosen."
NEVER_BEGAN = "The run has ended before its first round. The terminal in which it was started says why."


class PageMaker:
    """Makes the page of a run's result folder, version after version.

    Args:
        folder: the result folder.
        title: what the run is called.
    """

    def __init__(self, folder: Path, title: str) -> None:
        self._folder = folder
        self._title = title
        self._version = 0

    def setting_up(self) -> Shown:
        """Return the page of a run whose folder is not open yet."""
        return self._next(_page_of_text(self._title, SETTING_UP))

    def now(self) -> Shown | None:
        """Return the page of what the folder holds now; None if it holds no run at this moment."""
        try:
            return self._next(self._of_folder())
        except InputError:  # the run is about to write its first files, or somebody has removed them
            return None

    def last(self, *, has_rounds: bool) -> Shown:
        """Return the page at the end of the run; it says so where the folder has nothing of this run."""
        text = NEVER_BEGAN
        if has_rounds:
            try:
                return self._next(self._of_folder(), ended=True)
            except InputError as error:  # somebody has removed or changed a file
                text = str(error)
        return self._next(_page_of_text(self._title, text), ended=True)

    def _of_folder(self) -> str:
        """Return the page of what the folder holds now.

        Raises:
            InputError: it holds no run.
        """
        return render(load_all([self._folder], so_far=True))

    def _next(self, html: str, *, ended: bool = False) -> Shown:
        """Return a page as the server hands it out."""
        self._version += 1
        facts = {"version": self._version, "ended": ended, "file": str(self._folder / REPORT_FILE)}
        state = {**facts, "main": _between(html, "<main", "</main>").partition(">")[2]}
        if DATA_OPENS in html:
            state["data"] = _between(html, DATA_OPENS, "</script>")
        return Shown(self._version, _served(html, facts).encode(), as_json(state).encode())


def _page_of_text(title: str, text: str) -> str:
    """Return a page without charts."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{STRICT_POLICY} script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{resource("shared/style.css")}
</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1></header>
<p class="banner" role="status">{escape(text)}</p>
</main>
</body>
</html>
"""


def _served(html: str, facts: Mapping[str, Any]) -> str:
    """Return a page with what it needs to keep itself up to date, and the right to ask the server that it came from."""
    script = (files("edgefl.results.live") / "live.js").read_text(encoding="utf-8")
    head, opens, rest = html.partition("<main")
    head = head.replace(STRICT_POLICY, SERVED_POLICY, 1).replace("</head>", f"{ICON}\n{STYLE}\n</head>", 1)
    body, closes, tail = rest.rpartition("</body>")
    notice = '<p class="banner" id="live" role="status" hidden></p>\n'
    facts_json = f'<script type="application/json" id="live-facts">{as_json(facts)}</script>'
    return f"{head}{notice}{opens}{body}{facts_json}\n<script>\n{script}</script>\n{closes}{tail}"


def _between(html: str, opens: str, closes: str) -> str:
    """Return what stands between two texts of the page; neither can occur in what a run is called or says."""
    begin = html.index(opens) + len(opens)
    return html[begin : html.index(closes, begin)]
