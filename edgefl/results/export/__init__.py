"""Result folders for other programs: tables, a timeline, tables and figures for papers (docs/export.md)."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import atomically

MEMORY = 2**26  # bytes that wait for standard output; more of them wait on disk
TABLES = ("rounds", "devices", "phases", "summary", "targets")


class Format(NamedTuple):
    """A way to write results: the module with `write(folders, part, sink, form)`."""

    module: str
    parts: tuple[str, ...] = ()  # what of the results can be asked for
    option: str = ""  # how
    binary: bool = False


FORMATS = {
    "csv": Format("as_csv", TABLES, "table"),
    "parquet": Format("as_parquet", TABLES, "table", binary=True),
    "json": Format("as_json", TABLES, "table"),
    "trace": Format("trace"),
    "latex": Format("paper", ("summary", "targets"), "table"),
    "markdown": Format("paper", ("summary", "targets"), "table"),
    "png": Format("figures", ("rounds", "time", "energy", "phases"), "figure", binary=True),
    "pdf": Format("figures", ("rounds", "time", "energy", "phases"), "figure", binary=True),
}


def export(folders: Sequence[Path], form: str, part: tuple[str, str] | None, out: Path | None) -> None:
    """Write result folders in one of the `FORMATS`: to a file, whole or not at all, or to standard output.

    Args:
        folders: result folders.
        form: the format.
        part: which option asks for what of them; None leaves it to the format.
        out: the file; None for standard output.

    Raises:
        InputError: no result folder, files that are not a run's, something the format has not, or a place that
            cannot be written.
    """
    chosen = FORMATS[form]
    if part is not None and (part[0] != chosen.option or part[1] not in chosen.parts):
        known = f"it has --{chosen.option} {', '.join(chosen.parts)}" if chosen.option else "leave it out"
        raise InputError(f"export: --{part[0]} {part[1]}: not with --format {form}: {known}")
    if chosen.binary and out is None and sys.stdout.isatty():
        raise InputError(f"export: --format {form} is nothing for a terminal: name a file with -o")
    write = import_module(f"edgefl.results.export.{chosen.module}").write
    with _sink(out) as sink:
        try:
            write(folders, part[1] if part else None, sink, form)
        except (LookupError, TypeError, ValueError, csv.Error) as error:
            names = ", ".join(map(str, folders))
            raise InputError(f"{names}: its files are not those of a finished run ({error!r})") from None


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[bytes]]:
    """The file; or standard output, which gets nothing before everything is there."""
    if out is None:
        with SpooledTemporaryFile(max_size=MEMORY) as spool:
            yield spool
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        with atomically(out) as sink:
            yield sink
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
