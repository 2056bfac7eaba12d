"""Downloads of datasets: from a server of our own, with right and wrong checksums."""

import gzip
import hashlib
import io
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from edgefl.core.errors import InputError, RunError
from edgefl.core.files import locked
from edgefl.learning.datasets import DATASETS, fetch, remotes
from edgefl.learning.datasets.remotes import Download, Remote

PARTS = {"train": b"many samples", "test": b"few samples"}


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """The address of a folder's files, and the folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/", folder
        serving.shutdown()
        thread.join()


def packed(kind):
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in PARTS.items():
                archive.writestr(f"set/{name}", content)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, content in PARTS.items():
                entry = tarfile.TarInfo(f"set/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def offer(monkeypatch, address, name, content, **more):
    """Let `svhn` be one download, whose checksum is that of the content."""
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    download = Download(name, md5, (address,), "place", **more)
    monkeypatch.setitem(remotes.REMOTES, "svhn", Remote(1, (download,)))


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_fetched_once(server, monkeypatch, tmp_path):
    address, served = server
    (served / "a.mat").write_bytes(b"samples")
    offer(monkeypatch, address, "a.mat", b"samples")
    asked = []
    assert fetch.fetch("svhn", tmp_path / "data", listener=asked.append, bar=False)
    assert files(tmp_path / "data") == {"place/a.mat": b"samples"}
    assert not fetch.fetch("svhn", tmp_path / "data", listener=asked.append, bar=False)
    assert asked == [f"{address}a.mat"]
    (tmp_path / "data/place/a.mat").write_bytes(b"damaged")  # only what is damaged is fetched again
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {"place/a.mat": b"samples"}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_of_an_archive_the_members_are_kept(server, monkeypatch, tmp_path, kind):
    address, served = server
    (served / "a.pack").write_bytes(packed(kind))
    offer(monkeypatch, address, "a.pack", packed(kind), members={f"set/{name}": name for name in PARTS})
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {f"place/{name}": content for name, content in PARTS.items()}
    (served / "a.pack").unlink()
    assert not fetch.fetch("svhn", tmp_path / "data", bar=False)


def test_an_archive_without_its_member_is_refused(server, monkeypatch, tmp_path):
    address, served = server
    (served / "a.pack").write_bytes(packed("zip"))
    offer(monkeypatch, address, "a.pack", packed("zip"), members={"set/other": "other"})
    with pytest.raises(RunError, match=r"a\.pack does not hold what it should"):
        fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {}


def test_a_file_with_a_wrong_checksum_is_deleted(server, monkeypatch, tmp_path):
    address, served = server
    (served / "a.mat").write_bytes(b"an error page")
    offer(monkeypatch, address, "a.mat", b"samples")
    with pytest.raises(RunError, match="its checksum is not"):
        fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {}


def test_the_next_address_is_tried(server, monkeypatch, tmp_path):
    address, served = server
    (served / "a.mat").write_bytes(b"samples")
    md5 = hashlib.md5(b"samples", usedforsecurity=False).hexdigest()
    download = Download("a.mat", md5, (f"{address}nowhere/", address), "")
    monkeypatch.setitem(remotes.REMOTES, "svhn", Remote(1, (download,)))
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)
    (tmp_path / "data/a.mat").unlink()
    (served / "a.mat").unlink()
    with pytest.raises(RunError, match=r"nowhere/a\.mat: the server answers 404; .*a\.mat: the server answers 404"):
        fetch.fetch("svhn", tmp_path / "data", bar=False)


class Endless(BaseHTTPRequestHandler):
    """Announces what the path says, or nothing, and sends until the reader has had enough."""

    def do_GET(self):
        self.send_response(200)
        if self.path.endswith("announced"):
            self.send_header("Content-Length", str(10**9))
        if self.path.endswith("packed"):
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(PACKED)))
        self.end_headers()
        if self.path.endswith("packed"):
            self.wfile.write(PACKED)
            return
        with suppress(OSError):
            while True:
                self.wfile.write(bytes(2**16))
                self.server.sent += 2**16

    def log_message(self, *_):
        pass


PACKED = gzip.compress(bytes(10**8))


@pytest.fixture
def endless():
    """The address of a server that does not stop, and the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as serving:
        serving.sent = 0
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/", serving
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["announced", "unannounced"])
def test_a_file_that_is_too_large_is_not_downloaded(endless, monkeypatch, tmp_path, name):
    """Of a dataset of a megabyte no more than two are taken."""
    address, serving = endless
    offer(monkeypatch, address, name, b"samples")
    with pytest.raises(RunError, match="is larger than 2 MB: this is another file"):
        fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {}
    assert serving.sent < 2e7  # what buffers hold is sent, too


def test_compressed_transfers_are_not_unpacked(endless, monkeypatch, tmp_path):
    """A server may pack what it sends: 97 kB would fill the disk as 100 MB."""
    address, _ = endless
    offer(monkeypatch, address, "packed", PACKED)
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {"place/packed": PACKED}


def test_remains_of_a_killed_download_are_removed(server, monkeypatch, tmp_path):
    """And nothing else: a file of another name is the user's."""
    address, served = server
    (served / "a.mat").write_bytes(b"samples")
    offer(monkeypatch, address, "a.mat", b"samples")
    aside = tmp_path / "data" / fetch.ASIDE
    aside.mkdir(parents=True)
    for name in (fetch.LOCK, fetch.WHOLE, fetch.MEMBER, "mine"):
        (aside / name).write_bytes(b"left")
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert files(tmp_path / "data") == {"place/a.mat": b"samples", f"{fetch.ASIDE}/mine": b"left"}


def test_two_downloads_into_one_folder_do_not_meet(server, monkeypatch, tmp_path):
    address, served = server
    (served / "a.mat").write_bytes(b"samples")
    offer(monkeypatch, address, "a.mat", b"samples")
    refused = pytest.raises(RunError, match="another process downloads into this folder: wait for it")
    with locked(tmp_path / "data" / fetch.ASIDE / fetch.LOCK), refused:
        fetch.fetch("svhn", tmp_path / "data", bar=False)
    assert fetch.fetch("svhn", tmp_path / "data", bar=False)


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing(endless, tmp_path, number):
    """The download is under way when the signal comes."""
    address, serving = endless
    command = [sys.executable, "-m", "edgefl", "data", "fetch", "emnist", "--to", tmp_path / "data", "--from", address]
    fetching = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a shell's background jobs ignore it
    )
    while not serving.sent:
        time.sleep(0.01)
    fetching.send_signal(number)
    told = fetching.communicate()[1]
    assert fetching.returncode == 130
    assert told.splitlines()[-1] == "edgefl: interrupted"
    assert not list((tmp_path / "data").iterdir())


def test_names():
    with pytest.raises(InputError, match=r'unknown dataset "minst" .did you mean "mnist"'):
        remotes.remote("minst")
    with pytest.raises(InputError, match="cinic10 is not fetched"):
        remotes.remote("cinic10")


def test_every_dataset_is_listed_with_what_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEFL_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert {row.name.partition(" ")[0] for row in fetch.whereabouts()} == set(DATASETS.members)
    assert all(row.path is None for row in fetch.whereabouts())
    (tmp_path / "mnist.npz").write_bytes(b"")  # it is not read
    assert {row.name: row.path for row in fetch.whereabouts()}["mnist"] == tmp_path / "mnist.npz"


@pytest.mark.parametrize("name", remotes.REMOTES)
def test_fetched_files_are_found(name, tmp_path, monkeypatch):
    """The files' places are those where the dataset looks, and its message names the command."""
    monkeypatch.setenv("EDGEFL_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match=f"`edgefl data fetch {name}` downloads it"):
        DATASETS.load(name)().load()
    for download in remotes.REMOTES[name].downloads:
        for target in download.targets(tmp_path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"")
    rows = [row for row in fetch.whereabouts() if row.name.partition(" ")[0] == name]
    assert all(row.path is not None for row in rows)
