"""Progress of a run or a sweep: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from edgefl.core.units import energy, seconds
from edgefl.results.progress import RemainingTime
from edgefl.scenario import Stop

LINE_EVERY_S = 5.0  # log files of long runs stay short
BAR_FORMAT = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rounds [{elapsed}{postfix}]"


class RoundProgress:
    """Shows each finished round; a context manager, as the bar needs to be closed."""

    def __init__(self, name: str, rounds: int, stop: Stop, *, quiet: bool) -> None:
        self._rounds = rounds
        self._quiet = quiet
        self._stream = sys.stderr  # a program that embeds this one may have put another stream in its place
        self._done = 0
        self._remaining = RemainingTime(rounds, stop)
        self._last_line_s = 0.0
        self._bar: Any = None
        if not quiet and self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=rounds, desc=name, file=self._stream, bar_format=BAR_FORMAT, dynamic_ncols=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Show a finished round by its number in the run, not in the session."""
        self._done += 1
        self._remaining.note_round(row)
        left = self._remaining.text
        if self._bar is not None:
            parts = [left, _state(row)] if left else [_state(row)]
            self._bar.set_postfix_str(", ".join(parts), refresh=False)
            self._bar.update()
        elif not self._quiet and self._line_is_due():
            shown = f"  [{left}]" if left else ""
            print(f"round {self._done}/{self._rounds}  {_state(row)}{shown}", file=self._stream, flush=True)

    def _line_is_due(self) -> bool:
        now_s = time.monotonic()
        if self._done not in {1, self._rounds} and now_s - self._last_line_s < LINE_EVERY_S:
            return False
        self._last_line_s = now_s
        return True


class SweepProgress:
    """Shows each run of a sweep that has ended, and an estimate of the time that is left."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self._name = name
        self._quiet = quiet
        self._stream = sys.stderr  # a program that embeds this one may have put another stream in its place
        self._began_s = time.monotonic()
        self._ended_before: int | None = None  # runs that an earlier attempt finished

    def __call__(self, statuses: Sequence[str], folder: str, status: str) -> None:
        """Show a run that has ended, given the statuses of all."""
        ended = sum(one in {"finished", "failed"} for one in statuses)
        if self._ended_before is None:  # the first call: one run has ended now
            self._ended_before = ended - 1
        if self._quiet:
            return
        run_s = (time.monotonic() - self._began_s) / max(1, ended - self._ended_before)
        left_s = run_s * (len(statuses) - ended)
        left = ""
        if left_s:
            left = f"  [about {seconds(left_s)} left]"
        print(f"{self._name} {ended}/{len(statuses)}  {folder}: {status}{left}", file=self._stream, flush=True)


def _state(row: Mapping[str, Any]) -> str:
    accuracy = ""
    if row["test_accuracy"] is None and row["test_loss"] is not None:  # labels are not classes
        accuracy = f"loss {row['test_loss']:.4g}  "
    if row["test_accuracy"] is not None:  # rounds between two evaluations have none
        accuracy = f"accuracy {row['test_accuracy']:.4f}  "
    return f"{accuracy}t {seconds(row['time_s'])}  E {energy(row['energy_j'])}"
