"""Progress on the way: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TextIO

from edgefl.core.units import energy, seconds

LINE_EVERY_S = 5.0


class Progress:
    """Shows each finished round; a context manager, as the bar needs to be closed."""

    def __init__(self, name: str, rounds: int, *, quiet: bool, stream: TextIO = sys.stderr) -> None:
        self.rounds, self.stream, self.quiet = rounds, stream, quiet
        self._bar: Any = None
        self._first_s: float | None = None  # when the first round had ended: start-up says nothing about the rest
        self._shown_s, self._done = 0.0, 0
        if not quiet and stream.isatty():
            from tqdm import tqdm

            bar_format = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rounds [{elapsed}<{remaining}{postfix}]"
            self._bar = tqdm(total=rounds, desc=name, file=stream, bar_format=bar_format, dynamic_ncols=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Show a finished round; in sessions, whose rounds count anew, by its number in the run."""
        self._done += 1
        if self._bar is not None:
            self._bar.set_postfix_str(_state(row), refresh=False)
            self._bar.update()
        elif not self.quiet and self._is_time(self._done):
            print(
                f"round {self._done}/{self.rounds}  {_state(row)}{self._left(self._done)}",
                file=self.stream,
                flush=True,
            )

    def _is_time(self, number: int) -> bool:
        """The first round, the last one, and one every few seconds."""
        now = time.monotonic()
        if number not in {1, self.rounds} and now - self._shown_s < LINE_EVERY_S:
            return False
        self._shown_s = now
        return True

    def _left(self, number: int) -> str:
        """What the rounds so far say about the time that the rest will take."""
        if self._first_s is None:
            self._first_s = time.monotonic()
        if number in {1, self.rounds}:
            return ""
        each = (time.monotonic() - self._first_s) / (number - 1)
        return f"  [about {each * (self.rounds - number):.0f} s left]"


class SweepProgress:
    """Shows each run of a sweep that has ended, with what the runs so far say about the time that is left."""

    def __init__(self, name: str, *, quiet: bool, stream: TextIO = sys.stderr) -> None:
        self._name, self._quiet, self._stream = name, quiet, stream
        self._began_s, self._before = time.monotonic(), -1

    def __call__(self, statuses: Sequence[str], folder: str, status: str) -> None:
        """Show one that has ended, where all of them stand."""
        over = sum(one in {"finished", "failed"} for one in statuses)
        if self._before < 0:
            self._before = over - 1  # an earlier sweep's, which took no time now
        if self._quiet:
            return
        each = (time.monotonic() - self._began_s) / max(1, over - self._before)
        left_s = each * (len(statuses) - over)
        left = f"  [about {seconds(left_s)} left]" if left_s else ""
        print(f"{self._name} {over}/{len(statuses)}  {folder}: {status}{left}", file=self._stream, flush=True)


def _state(row: Mapping[str, Any]) -> str:
    accuracy = "" if row["test_accuracy"] is None else f"accuracy {row['test_accuracy']:.4f}  "
    return f"{accuracy}t {seconds(row['time_s'])}  E {energy(row['energy_j'])}"
