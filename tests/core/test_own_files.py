"""Only one module deletes in users' folders, and it deletes nothing that it cannot tell to be edgefl's."""

import ast
from pathlib import Path

import pytest

import edgefl
from edgefl.core import own_files
from edgefl.core.errors import InputError, Taken
from edgefl.core.files import is_half_written
from edgefl.core.own_files import alone, begins_with, first_line_has

PACKAGE = Path(edgefl.__file__).parent
DELETING = {"unlink", "rmdir", "rmtree", "removedirs", "rename", "renames"}
DELETING_OF_MODULES = {"remove", "replace", "truncate", "move"}  # of os and shutil; other objects have such methods
# What they delete or rename, they have made themselves, under names that no file had.
OF_THEIR_OWN = {
    "core/own_files.py",
    "core/files.py",  # half-written files
    "learning/datasets/cache.py",  # edgefl's cache
    "learning/datasets/fetch.py",  # files that it has just downloaded
}


WRITING = {"write_atomically", "write_for_user", "FileGroup", "write_bytes", "write_text", "atomically"}
CACHE = "a cache of edgefl's"
NAMED = "writes where the user has said"
# Why modules that write in users' folders need no check of their own: another module has made it before.
CHECKED = {
    **dict.fromkeys(["cli/common.py", "results/export/__init__.py", "reproductions/records.py"], NAMED),
    "reproductions/trials.py": CACHE,
    **dict.fromkeys(["results/progress.py", "results/writer.py", "flower/emulate.py"], "results/run_folder.py"),
    **dict.fromkeys(["reproductions/pages.py", "reproductions/time_to_target.py"], "reproductions/study_folder.py"),
    "runs/sweep_index.py": "runs/sweep_folder.py",
}


def test_no_module_writes_without_a_check_of_whose_a_file_is():
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    writing = {name for name, text in sources.items() if any(f"{call}(" in text for call in WRITING)}
    unchecked = {name for name in writing if "own_files" not in sources[name]}
    assert unchecked - OF_THEIR_OWN == CHECKED.keys()
    assert all("own_files" in sources[by] for by in set(CHECKED.values()) - {CACHE, NAMED})


def deletions(source):
    """Return the calls in a module that delete or rename files."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in {"os", "shutil"}
        if node.func.attr in DELETING or (of_module and node.func.attr in DELETING_OF_MODULES):
            found.append(ast.unparse(node))
    return found


@pytest.mark.oracle
def test_one_module_deletes_in_users_folders():
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: deletions(path.read_text(encoding="utf-8")) for name, path in modules.items()}
    assert {name: calls for name, calls in found.items() if calls and name not in OF_THEIR_OWN} == {}
    assert not [call for call in found["core/own_files.py"] if "rmtree" in call]


@pytest.mark.parametrize("call", ["path.unlink()", "shutil.rmtree(folder)", "os.remove(name)", "folder.rmdir()"])
def test_the_search_finds_deletions(call):
    assert deletions(f"if x:\n    {call}\n") == [call]


MARK = begins_with(b"edgefl")


@pytest.mark.parametrize(
    ("content", "own"), [(b"edgefl's", True), (b"edgefl", True), (b"mine", False), (b"edge", False), (b"", False)]
)
def test_a_file_is_deleted_by_its_beginning(content, own, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    assert own_files.is_foreign(path, MARK) != own
    own_files.remove(path, MARK)
    assert path.exists() != own


def test_links_are_never_deleted(tmp_path):
    (tmp_path / "there").write_bytes(b"edgefl's")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    own_files.remove(link, MARK)
    assert link.is_symlink()
    with pytest.raises(InputError, match="link: edgefl has not written this file"):
        own_files.check_replaceable(tmp_path, {"link": MARK, "absent": MARK})


@pytest.mark.parametrize(
    ("header", "own"), [("a,b", True), ("x,a,b,y", True), ("aa,b", False), ("a,x,b", False), ("x\na,b", False)]
)
def test_a_table_is_known_by_columns_of_its_header(header, own):
    assert first_line_has("a", "b")(header.encode()) == own


@pytest.mark.parametrize(
    ("name", "own"),
    [
        (".rounds.csv.0123456789ab.part", True),
        (".rounds.csv.0123456789AB.part", False),
        ("rounds.csv.0123456789ab.part", False),
        (".download.part", False),
        (".film.mkv.part", False),
        (".rounds.csv.0123456789ab.part.txt", False),
    ],
)
def test_half_written_files_have_a_name_of_edgefls(name, own, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"half")
    assert is_half_written(path) == own
    own_files.remove_half_written(tmp_path)
    assert path.exists() != own


def test_lock_removes_its_folders(tmp_path):
    lock = tmp_path / "a" / "b" / "checkpoints" / "lock"
    with alone(lock), pytest.raises(Taken), alone(lock):
        pass
    assert not (tmp_path / "a").exists()


def test_lock_keeps_earlier_files(tmp_path):
    lock = tmp_path / "a" / "checkpoints" / "lock"
    (tmp_path / "a").mkdir()
    with alone(lock):
        (lock.parent / "model.pt").write_bytes(b"mine")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "checkpoints", "model.pt"]
    (lock.parent / "model.pt").unlink()
    with alone(lock):
        pass
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a"]


def test_a_file_instead_of_a_lock_is_neither_locked_nor_removed(tmp_path):
    lock = tmp_path / "lock"
    lock.write_bytes(b"mine")
    with pytest.raises(InputError), alone(lock):
        pass
    assert lock.read_bytes() == b"mine"
