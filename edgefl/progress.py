"""Progress on the way: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TextIO

from edgefl.units import energy, seconds

LINE_EVERY_S = 5.0


class Progress:
    """Shows each finished round; a context manager, as the bar needs to be closed."""

    def __init__(self, name: str, rounds: int, *, quiet: bool, stream: TextIO = sys.stderr) -> None:
        self.rounds, self.stream, self.quiet = rounds, stream, quiet
        self._bar: Any = None
        self._began = self._shown = time.monotonic()
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
        """Show a finished round."""
        if self._bar is not None:
            self._bar.set_postfix_str(_state(row), refresh=False)
            self._bar.update()
        elif not self.quiet and self._is_time(row["round"]):
            self._shown = time.monotonic()
            spent = self._shown - self._began
            left = spent / row["round"] * (self.rounds - row["round"])
            line = f"round {row['round']}/{self.rounds}  {_state(row)}  [{spent:.0f} s, about {left:.0f} s left]"
            print(line, file=self.stream, flush=True)

    def _is_time(self, number: int) -> bool:
        """The first round, the last one, and one every few seconds."""
        return number in {1, self.rounds} or time.monotonic() - self._shown >= LINE_EVERY_S


def _state(row: Mapping[str, Any]) -> str:
    accuracy = "" if row["test_accuracy"] is None else f"accuracy {row['test_accuracy']:.4f}  "
    return f"{accuracy}t {seconds(row['time_s'])}  E {energy(row['energy_j'])}"
