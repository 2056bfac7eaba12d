"""The scenarios and sweeps that come with edgefl: found by name, and copied into the user's folder."""

import re
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.core.paths import shipped_folder
from edgefl.core.section import nearest, shown

SUFFIXES = {".yaml", ".yml"}
SWEEPS = "sweeps"  # the folder of the sweeps
SCHEMA_FILES = {"scenario": "edgefl-scenario.schema.json", "sweep": "edgefl-sweep.schema.json"}
_SCHEMA_LINE = b"# yaml-language-server: $schema="  # where editors find the JSON Schema of a file
_SENTENCE_END = re.compile(r"[.:;](?= |$)")
LISTED = "`edgefl list scenarios` shows those that come with edgefl"


def scenarios() -> dict[str, Path]:
    """Return the shipped scenario files by name, those of the subfolders after the others."""
    folder = shipped_folder()
    found = sorted(folder.glob("*.yaml")) + sorted(folder.glob("*/*.yaml"))
    return {path.stem: path for path in found if path.parent.name != SWEEPS}


def sweeps() -> dict[str, Path]:
    """Return the shipped sweep files by name."""
    return {path.stem: path for path in sorted((shipped_folder() / SWEEPS).glob("*.yaml"))}


def about(path: Path) -> str:
    """Return the sentences of a file's comment that begin on its first line."""
    comment: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    text = " ".join(comment)
    if not comment:
        return ""
    end = _SENTENCE_END.search(text, max(0, len(comment[0]) - 1))
    if end is None:
        return text
    return f"{text[: end.start()]}."


def find(source: str | Path, folder: Path | None = None) -> Path:
    """Return the file that a path, or the name of a shipped scenario or sweep, stands for.

    Args:
        source: a path, or a name without folder and ending.
        folder: of relative paths; the working directory if not given.

    Raises:
        InputError: a name is unknown; or it is shipped, and the folder has another file of this name with .yaml.
    """
    path = (folder or Path()) / source
    name = str(source)
    if "://" in name:
        raise InputError(f"{name}: name a file on this machine: download it first")
    if "\n" in name or name.lstrip().startswith("{"):
        raise InputError(f"{shown(name)} is a scenario itself, not the name of a file: give yaml.safe_load() of it")
    # A missing file is reported when it is read.
    if path.is_file() or path.suffix in SUFFIXES or Path(name).name != name:
        return path
    known = {**scenarios(), **sweeps()}
    if path.exists() and name not in known:  # a folder, say
        return path
    named = [path.with_name(f"{name}{suffix}") for suffix in sorted(SUFFIXES)]
    files = [file for file in named if file.is_file()]
    if name not in known:
        hint = nearest(name, known)
        if files:
            hint = f": write {files[0]}"
        raise InputError(f"{name}: no such file, and no scenario that comes with edgefl{hint}; {LISTED}")
    # A user who has copied a scenario and changed it must not get the numbers of the original.
    for file in files:
        if _without_schema_line(read_bytes(file)) != known[name].read_bytes():
            text = "names a scenario that comes with edgefl, and there is another file of this name"
            raise InputError(f"{name}: {text}: write {file} for that file, or rename it")
    return known[name]


def schema_file(name: str) -> str:
    """Return the name of the JSON Schema that stands beside the copy of a shipped scenario or sweep."""
    return SCHEMA_FILES["sweep" if name.removesuffix(".yaml") in sweeps() else "scenario"]


def _without_schema_line(content: bytes) -> bytes:
    if content.startswith(_SCHEMA_LINE):
        return content.partition(b"\n")[2]
    return content


def copy_to(name: str, folder: Path) -> Path:
    """Copy a shipped scenario or sweep, with its comments, into a folder; return the new file.

    Its first line names the JSON Schema beside it.

    Raises:
        InputError: no shipped file has this name, or the folder has a file of this name.
    """
    known = {**scenarios(), **sweeps()}
    wanted = name.removesuffix(".yaml")
    if wanted not in known:
        raise InputError(f"{name}: no scenario that comes with edgefl{nearest(wanted, known)}; {LISTED}")
    target = folder / f"{wanted}.yaml"
    try:
        with target.open("xb") as file:  # x: never replaces a file
            file.write(_SCHEMA_LINE + schema_file(wanted).encode() + b"\n" + known[wanted].read_bytes())
    except FileExistsError:
        raise InputError(f"{target}: exists already: rename it, or use it") from None
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from None
    return target
