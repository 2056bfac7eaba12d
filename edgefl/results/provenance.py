"""The origin of a result: the versions and the machine of a run, and digests of the files that it wrote."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgefl.core.files import opened
from edgefl.core.machine import peak_memory_bytes, processor
from edgefl.core.version import edgefl_version
from edgefl.records.result_files import ResultFile
from edgefl.results.result_tables import result_files

PROCESSOR = "processor"  # in the manifest
PACKAGES = ("torch", "numpy", "scipy", "simpy")
GIT_PATIENCE_S = 5  # wall-clock; the working directory may lie on a slow network drive


def digests(folder: Path, more: Iterable[ResultFile] = ()) -> dict[str, str]:
    """Return the SHA-256 of a folder's files that the same scenario reproduces byte by byte."""
    found = {}
    for file in (*result_files(), *more):
        path = folder / file.name
        if file.digested and path.exists():  # many files are optional
            found[file.name] = digest(path)
    return found


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with opened(path) as file:  # a model may be large
        return hashlib.file_digest(file, "sha256").hexdigest()


def cpu_s() -> float:
    """Return the processor time of this process and its ended children [s]."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def used_resources(cpu_began_s: float) -> dict[str, float]:
    """Return the run's processor time, and the peak memory: a process with several runs has that of the largest."""
    return {"cpu_s": round(cpu_s() - cpu_began_s, 3), **peak_memory_bytes()}


def environment(*, git: bool) -> dict[str, Any]:
    """Return package versions, platform, processor and, with `git`, the git revision of the working directory."""
    found: dict[str, Any] = {**_machine(), PROCESSOR: processor()}
    if git:
        found["git"] = _git_revision()
    return found


@cache
def _machine() -> dict[str, str]:
    """Return package versions and platform, which stay the same throughout a process."""
    versions = {"edgefl": edgefl_version()}
    versions |= {package: version(package) for package in PACKAGES}
    return {**versions, "python": platform.python_version(), "platform": platform.platform()}


def _git_revision() -> str | None:
    """Return the commit of the working directory; None without git, or outside a repository."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, timeout=GIT_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return done.stdout.strip() or None
