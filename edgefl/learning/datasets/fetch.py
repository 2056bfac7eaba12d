"""Downloads of datasets, their checks, and the places of their files; `remotes.py` has addresses and checksums."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from edgefl.core.errors import RunError, Taken
from edgefl.core.files import locked, opened
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.learning.datasets.base import located
from edgefl.learning.datasets.remotes import REMOTES, Download, remote

if TYPE_CHECKING:
    from requests import Response

Listener = Callable[[str], None]  # called with the address of each download that begins

TIMEOUT_S = 30  # without a byte
CHUNK_BYTES = 2**18
ASIDE = ".edgefl-fetch"  # folder below the data folder for unchecked files
LOCK = "lock"  # file in it that a process locks while it downloads
WHOLE = "download"  # file in it: the part that has arrived
MEMBER = "member"  # file in it: a part of an archive


def fetch(name: str, folder: Path, mirror: str | None = None, listener: Listener | None = None, *, bar: bool) -> bool:
    """Download a dataset into a data folder, and check it; return False if all of it was there before.

    Files appear under their names only when they are whole and their checksum is right.

    Args:
        name: of the dataset.
        folder: the data folder.
        mirror: address of a folder that has files of the same names; None: the publishers' addresses.
        listener: called with the address of each download that begins.
        bar: show a progress bar for each download.

    Raises:
        InputError: there is no such dataset, or it is not fetched.
        RunError: a file cannot be downloaded or written, or its checksum is wrong.
    """
    source = remote(name)
    missing = [download for download in source.downloads if not _is_there(download, folder)]
    if not missing:
        return False
    try:
        with _aside(folder) as aside:
            for download in missing:
                _fetch_one(name, download, source.most_bytes, aside, folder, mirror, listener, bar=bar)
    except OSError as error:
        raise RunError(f"data fetch: {error.filename or folder}: {error.strerror or error}") from error
    return True


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Give this process a folder for unchecked files, on the same disk as the data folder's content.

    The files of a killed process are removed, and at the end the folder is, too.
    """
    aside = folder / ASIDE
    aside.mkdir(parents=True, exist_ok=True)
    try:
        lock = locked(aside / LOCK)
    except Taken:
        raise RunError(f"data fetch: {folder}: another process downloads into this folder: wait for it") from None
    with lock:
        try:
            yield aside
        finally:
            for name in (WHOLE, MEMBER):
                (aside / name).unlink(missing_ok=True)
            (aside / LOCK).unlink()
            with suppress(OSError):  # it holds files of others
                aside.rmdir()


def _fetch_one(
    name: str,
    download: Download,
    most_bytes: int,
    aside: Path,
    folder: Path,
    mirror: str | None,
    listener: Listener | None,
    *,
    bar: bool,
) -> None:
    """Download one file from the first address that has it, check it, and put it or its members in their places."""
    addresses = download.addresses
    if mirror is not None:
        addresses = (f"{mirror.rstrip('/')}/",)
    problems: list[str] = []
    for address in addresses:
        url = f"{address}{download.name}"
        if listener is not None:
            listener(url)
        problem = _retrieve(url, download.md5, most_bytes, aside / WHOLE, bar=bar)
        if problem is None:
            _put(name, download, aside, folder)
            return
        problems.append(f"{url}: {problem}")
    remedy = "put the files into the folder by hand (docs/datasets.md), or name a mirror with --from"
    raise RunError(f"data fetch: {name}: {'; '.join(problems)}; nothing of that file was kept: {remedy}")


def _retrieve(url: str, md5: str, most_bytes: int, file: Path, *, bar: bool) -> str | None:
    """Download a file of at most so many bytes; return what went wrong, or None."""
    import requests
    from urllib3.exceptions import HTTPError

    if not url.startswith(("http://", "https://")):
        return "must begin with http:// or https://"
    try:
        # Nothing is unpacked on the way: a few bytes could stand for gigabytes.
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
            answer.raise_for_status()
            found = _save(answer, most_bytes, file, bar=bar)  # errors of the connection are urllib3's own here
    except _TooLarge:
        return f"is larger than {most_bytes / 1e6:.0f} MB: this is another file"
    except (requests.RequestException, HTTPError) as error:
        return _broken_off(error)
    if found != md5:
        return f"its checksum is not {md5}: the file is damaged, or another one"
    return None


class _TooLarge(Exception):  # noqa: N818 - the name says what happened
    """The server sends more than the file has."""


def _save(answer: Response, most_bytes: int, file: Path, *, bar: bool) -> str:
    """Write a server's answer to a file; return its MD5 sum."""
    from tqdm import tqdm

    digest = hashlib.md5(usedforsecurity=False)
    announced = answer.headers.get("Content-Length", "")
    total = int(announced) if announced.isdecimal() else None
    if total is not None and total > most_bytes:
        raise _TooLarge
    size = 0
    with file.open("wb") as stream, tqdm(total=total, unit="B", unit_scale=True, disable=not bar) as shown:
        while chunk := answer.raw.read(CHUNK_BYTES):
            size += len(chunk)
            if size > most_bytes:
                raise _TooLarge
            digest.update(chunk)
            stream.write(chunk)
            shown.update(len(chunk))
    return digest.hexdigest()


def _broken_off(error: Exception) -> str:
    from requests.exceptions import ConnectionError as NoConnectionError
    from requests.exceptions import HTTPError, Timeout
    from urllib3.exceptions import ReadTimeoutError

    if isinstance(error, HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code}"
    # A timeout may be a connection error, too.
    if isinstance(error, Timeout | ReadTimeoutError):
        return "does not answer"
    if isinstance(error, NoConnectionError):
        return "cannot be reached (no network?)"
    return "the connection broke off"


def _put(name: str, download: Download, aside: Path, folder: Path) -> None:
    place = folder / download.place
    place.mkdir(parents=True, exist_ok=True)
    file = aside / WHOLE
    if not download.members:
        file.replace(place / download.name)
        return
    part = aside / MEMBER
    try:
        with _opened(file) as open_member:
            for member, target in download.members.items():
                with open_member(member) as source, part.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
                part.replace(place / target)  # never half of it
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise RunError(f"data fetch: {name}: {download.name} does not hold what it should: {error}") from error
    file.unlink()


@contextmanager
def _opened(archive: Path) -> Iterator[Callable[[str], IO[bytes]]]:
    """Open an archive, and give a function that opens its members."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as members_of_zip:
            yield members_of_zip.open
        return
    with tarfile.open(archive) as members_of_tar:

        def open_member(name: str) -> IO[bytes]:
            member = members_of_tar.extractfile(name)
            if member is None:  # a folder or a link
                raise KeyError(name)
            return member

        yield open_member


def _is_there(download: Download, folder: Path) -> bool:
    targets = download.targets(folder)
    if not all(target.is_file() for target in targets):
        return False
    if download.members:  # the archive, whose checksum is known, has been deleted
        return True
    with opened(targets[0]) as file:
        return hashlib.file_digest(file, "md5").hexdigest() == download.md5


class Whereabouts(NamedTuple):
    """The places of a dataset's files."""

    name: str
    path: Path | None  # its first file; None if there is none
    remark: str  # what to do if there is none


MADE_HERE = ("digits", "quadratic", "synthetic", "tokens")
OWN_FILES = ("image_folder", "npz")
FROM_PYTHON = ("arrays",)
SPLITS: dict[str, tuple[dict[str, str], ...]] = {
    "emnist": ({"split": "letters"}, {"split": "byclass"})
}  # with separate files


def whereabouts() -> list[Whereabouts]:
    """Return where the files of each dataset are found, without reading them."""
    found: list[Whereabouts] = []
    for name in DATASETS.members:
        if name in MADE_HERE:
            found.append(Whereabouts(name, None, "comes with edgefl"))
        elif name in OWN_FILES:
            found.append(Whereabouts(name, None, "files of your own: data.path"))
        elif name in FROM_PYTHON:
            found.append(Whereabouts(name, None, "arrays from Python: edgefl.arrays(...)"))
        else:
            for keys in SPLITS.get(name, ({},)):
                label = " ".join([name, *keys.values()])
                found.append(Whereabouts(label, located(DATASETS.load(name).model_validate(keys)), _remark(name)))
    return found


def found_at(name: str, dataset: Dataset) -> Path | None:
    """Return the place of a dataset's files; None if it has none, or comes from outside edgefl."""
    if name not in DATASETS.members or name in (*MADE_HERE, *FROM_PYTHON):
        return None
    if name in OWN_FILES:
        return dataset.path
    return located(dataset)


def _remark(name: str) -> str:
    if name in REMOTES:
        return f"not found: edgefl data fetch {name} (about {REMOTES[name].megabytes} MB)"
    return "not found: docs/datasets.md says where it is"
