"""Every key that names a file has a type that checks it, so a file that is not there is refused before a run."""

from pathlib import Path
from typing import Annotated, get_args, get_origin

import pytest
from pydantic import BaseModel

import edgefl
from edgefl.cli.listing import CATALOGUES
from edgefl.core.distributions import ColumnDistribution
from edgefl.core.errors import InputError
from edgefl.core.paths import NamedPath
from edgefl.scenario import load
from edgefl.scenario.sections import Sections

SEARCHED = {("Sections", "import_from")}  # folders of modules, which may be installed elsewhere


def _models():
    """Yield the sections and the members of all catalogues."""
    waiting = [Sections, ColumnDistribution]
    waiting += [catalogue.load(name) for catalogue in CATALOGUES.values() for name in catalogue.members]
    seen = set()
    while waiting:
        model = waiting.pop()
        if model in seen or not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        seen.add(model)
        yield model
        for field in model.model_fields.values():
            waiting += [part for part in _parts(field.annotation) if part is not field.annotation]
            waiting.append(field.annotation)


def _parts(annotation):
    """Yield an annotation and all annotations inside it."""
    yield annotation
    if get_origin(annotation) is Annotated:
        yield from _parts(get_args(annotation)[0])
        return
    for part in get_args(annotation):
        yield from _parts(part)


def _checks(annotation, metadata):
    """Return the checks of paths in an annotation with its metadata."""
    found = [getattr(item, "func", None) for item in metadata]
    for part in _parts(annotation):
        found += [getattr(item, "func", None) for item in getattr(part, "__metadata__", ())]
    return [item for item in found if isinstance(item, NamedPath)]


def test_every_key_with_a_path_checks_that_something_is_there():
    found = {}
    for model in _models():
        for name, field in model.model_fields.items():
            if any(part is Path for part in _parts(field.annotation)):
                checks = _checks(field.annotation, field.metadata)
                assert checks, (model, name)
                found[model.__name__, name] = all(check.is_needed for check in checks)
    unchecked = {key for key, is_needed in found.items() if not is_needed}
    assert len(found) > 12, found
    assert unchecked == SEARCHED


KEYS = {
    "mobility.path": ({"kind": "trace", "path": "t.csv"}, "mobility"),
    "churn.path": ({"kind": "trace", "path": "t.csv"}, "churn"),
    "devices.cpu_hz.file": ({"cpu_hz": {"file": "t.csv", "column": "a"}}, "devices"),
    "model.init.path": ({"init": {"kind": "file", "path": "t.csv"}}, "model"),
    "radio.trace.path": ({"kind": "trace", "trace": {"kind": "csv", "path": "t.csv"}}, "radio"),
}


@pytest.mark.parametrize("key", KEYS)
def test_absent_file_is_refused_with_its_key_and_the_most_similar_name(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tt.csv").touch()
    keys, section = KEYS[key]
    with pytest.raises(InputError) as refused:
        load({section: keys}, needs_files=True)
    (line,) = refused.value.faults
    what = "file or folder" if key == "mobility.path" else "file"
    place = 'as t.csv (did you mean "tt.csv"?) beside the scenario file'
    assert line.startswith(f"scenario: {key}: no such {what} {place}")


def test_file_beside_the_scenario_file_is_found_from_anywhere(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "t.csv").write_text("cpu_hz\n1e9\n")
    path = folder / "s.yaml"
    path.write_text("devices: {count: 1, cpu_hz: {file: t.csv, column: cpu_hz}}\nserver: {participants: 1}\n")
    assert load(path, needs_files=True).devices.cpu_hz.file == folder / "t.csv"


def test_sweep_over_an_absent_file_is_refused_at_its_line(tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text("base: quickstart\ngrid:\n  churn:\n    - none\n    - {kind: trace, path: stays.csv}\n")
    with pytest.raises(InputError, match=r"w\.yaml:5: churn\.path: no such file as stays\.csv"):
        edgefl.sweep(path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
