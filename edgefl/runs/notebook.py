"""Progress of a run that a notebook or an interactive IPython shows without being asked; programs stay silent."""

import html
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from edgefl.core.units import seconds
from edgefl.runs.emulation import silent
from edgefl.server.evaluation import RoundListener

LEAST_S = 0.2  # wall-clock from one update to the next


@contextmanager
def shown(progress: RoundListener | None, name: str, rounds: int) -> Iterator[RoundListener]:
    """Return the user's listener for finished rounds; by default a bar in IPython, and nothing elsewhere."""
    shell = interactive_shell()
    if progress is not None:
        yield progress
    elif shell is None:
        yield silent
    elif hasattr(shell, "kernel"):
        notebook = _NotebookBar(name, rounds)
        yield notebook
        notebook.close()
    else:
        from tqdm import tqdm

        with tqdm(total=rounds, desc=name, unit="round") as bar:

            def update(_row: Mapping[str, Any]) -> None:
                bar.update()

            yield update


def interactive_shell() -> Any:
    """Return IPython's shell if this program runs in one, else None; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    return ipython.get_ipython()


class _NotebookBar:
    """One output of a notebook's cell, written again after rounds."""

    def __init__(self, name: str, rounds: int) -> None:
        from IPython.display import display

        self._name = name
        self._rounds = rounds
        self._done = 0
        self._last_s = -LEAST_S
        self._row: Mapping[str, Any] = {}
        self._handle = display(self._content(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def __call__(self, row: Mapping[str, Any]) -> None:
        self._done += 1
        self._row = row
        if time.monotonic() - self._last_s >= LEAST_S:
            self._update()

    def close(self) -> None:
        self._update()

    def _update(self) -> None:
        self._last_s = time.monotonic()
        if self._handle is not None:
            self._handle.update(self._content(), raw=True)

    def _content(self) -> Mapping[str, str]:
        text = f"{self._name}: round {self._done} of {self._rounds}"
        if self._row:
            text = f"{text}, {seconds(self._row['time_s'])} of virtual time"
        if self._row.get("test_accuracy") is not None:  # rounds between two evaluations have none
            text = f"{text}, accuracy {self._row['test_accuracy']:.4f}"
        bar = f'<progress max="{self._rounds}" value="{self._done}"></progress>'
        return {"text/plain": text, "text/html": f"<div>{bar} {html.escape(text)}</div>"}
