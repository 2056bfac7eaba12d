"""The locked requirements have the versions of constraints.txt, all that edgefl asks for, and hashes of all files."""

import re
import tomllib
from pathlib import Path

import yaml

HOME = Path(__file__).parents[2]
PACKAGING = HOME / "packaging"
ENTRY = re.compile(r"([A-Za-z0-9._-]+)==([^ ;]+)( ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def normalised(name):
    """Return a name as package indices compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    """Return the locked versions by their packages' names."""
    return {normalised(name): version for name, version, _, _ in ENTRY.findall(text())}


def text():
    return (PACKAGING / "requirements" / "locked.txt").read_text()


def test_each_line_is_a_version_with_its_hashes_and_nothing_else():
    assert ENTRY.sub("", text()) == ""
    assert len(locked()) > 100


def test_build_tools_of_a_release_have_the_same_hashes():
    release = (PACKAGING / "requirements" / "release.txt").read_text()
    entries = [entry[0] for entry in ENTRY.finditer(release)]
    assert "".join(entries) == release
    assert {normalised(ENTRY.match(entry)[1]) for entry in entries} >= {"hatchling", "pathspec", "pluggy"}
    assert all(entry in text() for entry in entries)


def test_the_base_of_the_image_is_one_and_the_same():
    """A tag is moved with each release, a digest names the bytes."""
    (base,) = re.findall(r"^FROM (\S+)", (HOME / "Dockerfile").read_text(), re.MULTILINE)
    assert re.fullmatch(r"python:3\.12-slim@sha256:[0-9a-f]{64}", base)


def test_the_versions_are_those_of_constraints():
    lines = (PACKAGING / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = locked()
    for name, version in pinned.items():
        assert versions[normalised(name)] == version, name


def test_the_job_of_kubernetes_names_the_version_of_ray_in_the_image():
    job = yaml.safe_load((HOME / "docs" / "kubernetes" / "rayjob.yaml").read_text())
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == locked()["ray"]


def test_nothing_that_edgefl_asks_for_is_missing():
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    build = (PACKAGING / "requirements" / "build.in").read_text().splitlines()
    asked += [line for line in build if not line.startswith("#")]
    names = {normalised(re.match(r"[A-Za-z0-9._-]+", line)[0]) for line in asked}
    assert names <= locked().keys()
