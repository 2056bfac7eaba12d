"""Progress that a notebook or an interactive IPython shows without being asked; programs stay silent."""

import html
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from edgefl.core.units import seconds
from edgefl.server.evaluation import RoundListener

LEAST_S = 0.2  # wall-clock from one update to the next
ENDED = ("finished", "failed")

Advance = Callable[[int, str], object]  # takes how much is done, and what to say of it


@contextmanager
def shown(progress: RoundListener | None, name: str, rounds: int) -> Iterator[RoundListener]:
    """Return the user's listener for finished rounds; by default a bar in IPython, and nothing elsewhere."""
    if progress is not None:
        yield progress
        return
    with _bar(name, rounds, "round") as advance:
        done = 0

        def listener(row: Mapping[str, Any]) -> None:
            nonlocal done
            done += 1
            advance(done, _of_round(row))

        yield listener


@contextmanager
def runs_shown(name: str, runs: int) -> Iterator[Callable[[Sequence[str], str, str], None]]:
    """Return a listener for ended runs of a sweep, which shows a bar in IPython, and nothing elsewhere."""
    with _bar(name, runs, "run") as advance:

        def listener(statuses: Sequence[str], place: str, status: str) -> None:
            advance(sum(one in ENDED for one in statuses), f", {place} {status}")

        yield listener


def _of_round(row: Mapping[str, Any]) -> str:
    text = f", {seconds(row['time_s'])} of virtual time"
    if row.get("test_accuracy") is not None:  # rounds between two evaluations have none
        text = f"{text}, accuracy {row['test_accuracy']:.4f}"
    return text


@contextmanager
def _bar(name: str, total: int, unit: str) -> Iterator[Advance]:
    shell = interactive_shell()
    if shell is None:
        yield lambda _done, _text: None
    elif hasattr(shell, "kernel"):
        notebook = _NotebookBar(name, total, unit)
        yield notebook
        notebook.update()
    else:
        from tqdm import tqdm

        with tqdm(total=total, desc=name, unit=unit) as bar:
            yield lambda done, _text: bar.update(done - bar.n)


def interactive_shell() -> Any:
    """Return IPython's shell if this program runs in one, else None; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    return ipython.get_ipython()


class _NotebookBar:
    """One output of a notebook's cell, written again as the work goes on."""

    def __init__(self, name: str, total: int, unit: str) -> None:
        from IPython.display import display

        self._name = name
        self._total = total
        self._unit = unit
        self._done = 0
        self._text = ""
        self._last_s = -LEAST_S
        self._handle = display(self._content(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def __call__(self, done: int, text: str) -> None:
        self._done = done
        self._text = text
        if time.monotonic() - self._last_s >= LEAST_S:
            self.update()

    def update(self) -> None:
        """Show what is done."""
        self._last_s = time.monotonic()
        if self._handle is not None:
            self._handle.update(self._content(), raw=True)

    def _content(self) -> Mapping[str, str]:
        text = f"{self._name}: {self._unit} {self._done} of {self._total}{self._text}"
        bar = f'<progress max="{self._total}" value="{self._done}"></progress>'
        return {"text/plain": text, "text/html": f"<div>{bar} {html.escape(text)}</div>"}
