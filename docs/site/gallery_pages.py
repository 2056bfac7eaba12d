# ruff: noqa: INP001  # MkDocs reads this file; nothing imports it
"""Adds the reports that docs/gallery.md links to: small runs, made while the site is built.

They take seconds, and are kept in build/gallery until the package changes.
"""

import contextlib
import hashlib
import io
import os
import shutil
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from edgefl.cli import main as edgefl

KEPT = Path("build") / "gallery"  # below the folder of mkdocs.yml
FOLDER = "gallery"  # of the site
SWEEP = """\
base: 03-moving-devices
set: {rounds: 10, targets: [0.8]}
grid: {radio.bandwidth_hz: [10e6, 30e6, 100e6]}
seeds: [1, 2, 3]
"""
COMMANDS = (
    "run quickstart --set rounds=20 -o fedavg",
    "what-if fedavg --over radio.bandwidth_hz=5e6,10e6,20e6,40e6 --over devices.tx_power_dbm=10,17,23",
    "run quickstart --set rounds=20 --set algorithm=scaffold -o scaffold",
    "report fedavg scaffold -o comparison.html",
    "run 09-several-cells --no-train -o cells",
    "run 20-batteries --no-train -o batteries",
    "sweep sweep.yaml -o sweep --workers 2",
)
PAGES = {
    "run.html": "fedavg/report.html",
    "comparison.html": "comparison.html",
    "cells.html": "cells/report.html",
    "batteries.html": "batteries/report.html",
    "sweep.html": "sweep/report.html",
}
"""The pages of the site by their names, and where the commands write them."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reports as files of the site."""
    root = Path(config.config_file_path).parent
    made = reports(root)
    for name in PAGES:
        files.append(File.generated(config, f"{FOLDER}/{name}", abs_src_path=str(made / name)))
    return files


def reports(root: Path) -> Path:
    """Return the folder with the reports of this version of the package; make them if they are not there.

    Raises:
        PluginError: a command fails.
    """
    made = root / KEPT / version(root)
    if all((made / name).is_file() for name in PAGES):
        return made
    shutil.rmtree(root / KEPT, ignore_errors=True)  # those of other versions
    work = made / "work"
    work.mkdir(parents=True)
    (work / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    before = Path.cwd()
    os.chdir(work)
    try:
        for command in COMMANDS:
            call(command)
        for name, path in PAGES.items():
            shutil.copyfile(path, made / name)
    finally:
        os.chdir(before)
    shutil.rmtree(work)
    return made


def call(command: str) -> None:
    """Run a command of edgefl in the working directory.

    Raises:
        PluginError: it fails.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = edgefl(command.split())
    if code:
        raise PluginError(f"edgefl {command}: exit code {code}: {printed.getvalue()}")


def version(root: Path) -> str:
    """Return a digest of the package and of this file."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in ("edgefl", "channel"):
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
