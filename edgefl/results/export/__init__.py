"""Result folders for other programs: tables, a timeline, models, tables and figures for papers (docs/export.md)."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import atomically

if TYPE_CHECKING:  # the command line lists the formats, and imports nothing that takes long
    from edgefl.results.report.sweep.selection import StudyChoice

MEMORY = 2**26  # bytes for standard output that wait in memory; more wait on disk
EXPORT_TABLES = ("rounds", "devices", "phases", "device_accuracy", "summary", "targets")
EFFECTS = "effects"  # of the keys of a sweep, also as csv and json
PAPER_TABLES = ("summary", "targets", EFFECTS)
PAPER_FIGURES = ("rounds", "time", "energy", "phases", "sweep")

TABLES = {"as_csv", "as_json", "as_parquet"}  # modules with formats of tables of runs
CHOOSING = {"paper", "figures"}  # modules whose formats can take chosen parts of a sweep


class ExportFormat(NamedTuple):
    """A way to write results: the module with `write(folders, part, sink, form)`."""

    module: str  # in this folder
    parts: tuple[str, ...] = ()  # the tables or figures that it offers
    option: str = ""  # the command-line option that selects one of them
    binary: bool = False
    measures: bool = False  # whether it also offers tables of measures, by their names
    licensed: bool = False  # whether the licence of the results can be named
    folder: bool = False  # whether `write_folder(folders, out, form)` writes it, unless the output is a .zip
    suffixes: tuple[str, ...] = ()  # of files; of several formats with a suffix the first is the usual one


EXPORT_FORMATS = {
    "csv": ExportFormat("as_csv", EXPORT_TABLES, "table", measures=True, suffixes=(".csv",)),
    "parquet": ExportFormat("as_parquet", EXPORT_TABLES, "table", binary=True, measures=True, suffixes=(".parquet",)),
    "json": ExportFormat("as_json", EXPORT_TABLES, "table", measures=True, suffixes=(".json",)),
    "trace": ExportFormat("trace", suffixes=(".json",)),
    "latex": ExportFormat("paper", PAPER_TABLES, "table", suffixes=(".tex",)),
    "markdown": ExportFormat("paper", PAPER_TABLES, "table", suffixes=(".md",)),
    "safetensors": ExportFormat("model_file", binary=True, suffixes=(".safetensors",)),
    "ro-crate": ExportFormat("ro_crate", binary=True, licensed=True, folder=True, suffixes=(".zip",)),
    "croissant": ExportFormat("croissant", licensed=True, suffixes=(".json", ".jsonld")),
    "png": ExportFormat("figures", PAPER_FIGURES, "figure", binary=True, suffixes=(".png",)),
    "pdf": ExportFormat("figures", PAPER_FIGURES, "figure", binary=True, suffixes=(".pdf",)),
}


def format_of(asked: str | None, out: Path | None) -> str:
    """Return the format of an export: the one that was asked for, or else that of the suffix of its file.

    Raises:
        InputError: neither says a format, or the suffix is that of another one.
    """
    suffix = ""
    if out is not None:
        suffix = out.suffix.lower()
    fitting = [form for form, about in EXPORT_FORMATS.items() if suffix in about.suffixes]
    if asked is None and fitting:
        return fitting[0]
    if asked is None:
        known = ", ".join(dict.fromkeys(known for about in EXPORT_FORMATS.values() for known in about.suffixes))
        if out is None:
            raise InputError(
                f"export: name a file whose suffix says the format, such as -o x.csv ({known}), or --format"
            )
        raise InputError(
            f"export: -o {out}: its suffix says no format: name one with --format, or end it in one of {known}"
        )
    if fitting and asked not in fitting:
        raise InputError(f"export: -o {out}: {suffix} is a file of {fitting[0]}, not {asked}: change one of the two")
    return asked


def export(
    folders: Sequence[Path],
    form: str,
    part: tuple[str, str] | None,
    out: Path | None,
    choice: StudyChoice | None = None,
    licence: str | None = None,
) -> None:
    """Write result folders in one of the `EXPORT_FORMATS`: to a file, never half of one, or to standard output.

    The folder of a sweep stands for its finished runs. The `part` is an option and its value, such as ("table",
    "rounds"); None leaves the choice to the format. The `licence` is an SPDX identifier or an address.

    Raises:
        InputError: a folder holds no results or damaged ones, the format does not have the part, or the file cannot
            be written.
    """
    chosen = EXPORT_FORMATS[form]
    _check_part(chosen, form, part)
    # Bytes would garble a terminal.
    if chosen.binary and out is None and sys.stdout.isatty():
        raise InputError(f"export: --format {form} cannot be shown in a terminal: name a file with -o")
    name = None
    if part is not None:
        name = part[1]
    if name == EFFECTS and form in {"csv", "json"}:  # they are numbers of a sweep, not tables of its runs
        chosen = EXPORT_FORMATS["latex"]
    # Formats are imported when they are used, as pyarrow and the report take long.
    module = import_module(f"edgefl.results.export.{chosen.module}")
    write = module.write
    if choice is not None and choice.is_made:
        if chosen.module not in CHOOSING:
            from edgefl.results.export.exported_runs import check_options

            allowed = ("where",) if chosen.module in TABLES else ()
            check_options(choice, allowed, "a sweep's figures and tables for papers")
            write = partial(write, where=choice.where)
        else:
            write = partial(write, choice=choice)
    if licence is not None and not chosen.licensed:
        raise InputError(f"export: --license {licence}: only with --format ro-crate or croissant: leave it out")
    if chosen.licensed:
        write = partial(write, licence=licence)
    try:
        if chosen.folder and out is not None and out.suffix != ".zip":
            module.write_folder(folders, out, form, licence=licence)
            return
        with _sink(out) as sink:
            write(folders, name, sink, form)
    # Damaged cells and keys become one line instead of a traceback.
    except (LookupError, TypeError, ValueError, csv.Error) as error:
        names = ", ".join(map(str, folders))
        raise InputError(f"{names}: its files are not those of a finished run ({error!r})") from None


def _check_part(chosen: ExportFormat, form: str, part: tuple[str, str] | None) -> None:
    if part is None:
        return
    option, name = part
    if option == chosen.option and (chosen.measures or name in chosen.parts):
        return  # measures are checked when a run is read
    advice = "leave it out"
    if chosen.option:
        advice = f"it has --{chosen.option} {', '.join(chosen.parts)}"
    raise InputError(f"export: --{option} {name}: not with --format {form}: {advice}")


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[bytes]]:
    """Open the file, or a buffer for standard output, which is written once everything has been read."""
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
