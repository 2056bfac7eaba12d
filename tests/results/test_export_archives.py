"""`edgefl export --format ro-crate` and `croissant`: what they say is what the result folder holds."""

import csv
import hashlib
import json
import shutil
import zipfile
from unittest.mock import Mock, patch

import pytest
from export_cases import BASE

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.export import export
from edgefl.results.reader import columns_of

METADATA = "ro-crate-metadata.json"
SCHEMA = "http://schema.org/"
# The terms that the crate uses, as the contexts of RO-Crate 1.1 and of Workflow Run RO-Crate define them.
SCHEMA_TERMS = """
    about actionStatus contentSize CreateAction CreativeWork Dataset datePublished description encodingFormat endTime
    hasPart instrument license mentions name object result softwareRequirements SoftwareApplication softwareVersion
    startTime url version
"""
CONTEXT = {term: SCHEMA + term for term in SCHEMA_TERMS.split()} | {
    "File": f"{SCHEMA}MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "seed-1"
    edgefl.run(BASE | {"rounds": 2}, out=folder)
    return folder


@pytest.fixture(scope="module")
def crate(run):
    folder = run.parent / "crate"
    export([run], "ro-crate", None, folder, licence="CC-BY-4.0")
    return folder


@pytest.fixture(scope="module")
def graph(crate):
    entities = json.loads((crate / METADATA).read_text())["@graph"]
    by_id = {entity["@id"]: entity for entity in entities}
    assert len(by_id) == len(entities)
    return by_id


@pytest.fixture(scope="module")
def croissant(run):
    """The description beside the tables, where its addresses lead to them."""
    path = run / "croissant.json"
    export([run], "croissant", None, path, licence="CC-BY-4.0")
    return path


def test_crate_describes_its_files_and_no_others(crate, graph):
    files = {name: entity for name, entity in graph.items() if entity["@type"] == "File"}
    assert files.keys() == {path.name for path in crate.iterdir()} - {METADATA}
    assert files.keys() == {part["@id"] for part in graph["./"]["hasPart"]}
    for name, entity in files.items():
        content = (crate / name).read_bytes()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert entity["contentSize"] == str(len(content))


def test_crate_has_the_digests_of_the_manifest(run, graph):
    digests = json.loads((run / "manifest.json").read_text())["digests"]
    assert {name: graph[name]["sha256"] for name in digests} == digests


def test_action_turns_the_scenario_into_all_other_files(graph):
    action = graph["#run"]
    parts = [part["@id"] for part in graph["./"]["hasPart"]]
    assert action["object"] == {"@id": "scenario.yaml"}
    assert [part["@id"] for part in action["result"]] == [name for name in parts if name != "scenario.yaml"]
    assert action["startTime"] <= action["endTime"] == graph["./"]["datePublished"]
    assert graph[action["instrument"]["@id"]]["softwareVersion"] == edgefl.__version__


def test_references_of_a_crate_lead_somewhere(graph):
    outside = {"https://w3id.org/ro/crate/1.1", "https://spdx.org/licenses/Apache-2.0"}
    found = set()

    def collect(value):
        if isinstance(value, list):
            for item in value:
                collect(item)
        elif isinstance(value, dict):
            assert value.keys() == {"@id"}
            found.add(value["@id"])

    for entity in graph.values():
        for key, value in entity.items():
            if not key.startswith("@"):
                collect(value)
    assert found - outside <= graph.keys()
    assert {key for entity in graph.values() for key in entity if not key.startswith("@")} <= CONTEXT.keys()


@pytest.mark.oracle
def test_zip_holds_the_files_of_the_folder_and_is_reproducible(run, crate, tmp_path):
    for name in ("one.zip", "two.zip"):
        export([run], "ro-crate", None, tmp_path / name, licence="CC-BY-4.0")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert content == {path.name: path.read_bytes() for path in crate.iterdir()}


def test_crate_without_a_licence_says_so(run, tmp_path):
    export([run], "ro-crate", None, tmp_path / "crate")
    entities = json.loads((tmp_path / "crate" / METADATA).read_text())["@graph"]
    root = next(entity for entity in entities if entity["@id"] == "./")
    assert root["license"] == "No licence is stated; ask the authors of these results."


@pytest.mark.parametrize("form", ["ro-crate", "croissant"])
def test_damaged_or_unfinished_run_is_not_described(run, tmp_path, form):
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    (damaged / "rounds.csv").write_text("session,round\n")
    with pytest.raises(InputError, match=r"rounds\.csv: was damaged or edited after the run"):
        export([damaged], form, None, tmp_path / "out")
    manifest = json.loads((run / "manifest.json").read_text())
    (damaged / "manifest.json").write_text(json.dumps(manifest | {"status": "interrupted"}))
    with pytest.raises(InputError, match="its run is interrupted: finish it with `edgefl run --resume`"):
        export([damaged], form, None, tmp_path / "out")
    with pytest.raises(InputError, match="describes one run: name one result folder"):
        export([run, run], form, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_crate_replaces_no_files(run, tmp_path):
    (tmp_path / "own.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not an empty folder; choose another with -o"):
        export([run], "ro-crate", None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


def test_a_killed_export_can_be_repeated(run, crate, tmp_path):
    """It has left some files under their names, and one half-written."""
    out = tmp_path / "crate"
    out.mkdir()
    shutil.copy(crate / "rounds.csv", out)
    (out / f".scenario.yaml.{'0' * 12}.part").write_text("name")
    export([run], "ro-crate", None, out, licence="CC-BY-4.0")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in crate.iterdir()
    }
    with pytest.raises(InputError, match="exists and is not an empty folder"):
        export([run], "ro-crate", None, out)


@pytest.mark.parametrize("name", ["rounds.csv", "labels.csv", "report.html"])
def test_no_archive_holds_what_a_link_leads_to(name, run, tmp_path):
    """A stranger's result: with a digest the link is refused, without one the file is none of the run's."""
    shutil.copytree(run, tmp_path / "foreign")
    path = tmp_path / "foreign" / name
    (tmp_path / "secret").write_text("key")
    if path.exists():
        (tmp_path / "secret").write_bytes(path.read_bytes())
        path.unlink()
    path.symlink_to(tmp_path / "secret")
    try:
        export([tmp_path / "foreign"], "ro-crate", None, tmp_path / "crate.zip")
    except InputError as error:
        assert "is a link, and what it leads to would be copied" in str(error)  # noqa: PT017 - or it is left out
        return
    with zipfile.ZipFile(tmp_path / "crate.zip") as archive:
        assert name not in archive.namelist()


def test_licence_is_an_identifier_or_an_address_of_a_format_that_has_one(run, tmp_path):
    with pytest.raises(InputError, match=r"--license all rights: write an SPDX identifier such as CC-BY-4\.0"):
        export([run], "croissant", None, tmp_path / "out", licence="all rights")
    with pytest.raises(InputError, match="--license MIT: only with --format ro-crate or croissant: leave it out"):
        export([run], "csv", None, tmp_path / "out", licence="MIT")
    address = "https://example.org/terms"
    export([run], "croissant", None, tmp_path / "out", licence=address)
    assert json.loads((tmp_path / "out").read_text())["license"] == address


def test_fields_are_the_columns_of_the_tables(run, croissant):
    described = json.loads(croissant.read_text())
    files = {file["@id"]: file for file in described["distribution"]}
    types = {"sc:Text": str, "sc:Boolean": bool, "sc:Integer": int, "sc:Float": float}
    assert files.keys() >= {"rounds.csv", "devices.csv", "events.parquet"}
    for table in described["recordSet"]:
        (name,) = {field["source"]["fileObject"]["@id"] for field in table["field"]}
        assert files[name]["sha256"] == hashlib.sha256((run / name).read_bytes()).hexdigest()
        known = {column.name: column for column in columns_of(run, name)}
        names = [field["source"]["extract"]["column"] for field in table["field"]]
        if name.endswith(".csv"):
            assert names == (run / name).read_text().splitlines()[0].split(",")
        for field, column in zip(table["field"], map(known.get, names), strict=True):
            assert field["@id"] == f"{table['@id']}/{column.name}"
            assert types[field["dataType"]] is column.type
            assert field.get("unitText", "") == column.unit


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")  # those of other programs
def test_mlcroissant_reads_the_tables(run, croissant, caplog):
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs mlcroissant (`make test-archives`)")
    dataset = mlcroissant.Dataset(jsonld=str(croissant))
    assert dataset.metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert not caplog.messages  # it logs what is missing or not standard
    rows = list(csv.DictReader((run / "devices.csv").read_text().splitlines()))
    records = list(dataset.records("devices"))
    assert [record["devices/device"] for record in records] == [int(row["device"]) for row in rows]
    assert [record["devices/upload_s"] for record in records] == [float(row["upload_s"]) for row in rows]
    assert len(list(dataset.records("events"))) > len(rows)


@pytest.mark.filterwarnings("ignore")  # those of other programs
def test_rocrate_validator_finds_a_process_run_crate(crate):
    """The validator has the shapes of the profile; the two contexts, which it would fetch, come from this file."""
    services = pytest.importorskip("rocrate_validator.services", reason="needs roc-validator (`make test-archives`)")
    from rdflib.plugins.shared.jsonld import context
    from rocrate_validator.models import Severity
    from rocrate_validator.utils.http import HttpRequester

    answer = Mock(status_code=200, headers={"Content-Type": "application/ld+json"})
    answer.json.return_value = {"@context": CONTEXT}
    settings = services.ValidationSettings(
        rocrate_uri=str(crate), profile_identifier="process-run-crate", requirement_severity=Severity.REQUIRED
    )
    with (
        patch.object(HttpRequester, "__getattr__", lambda *_: Mock(return_value=answer)),
        patch.object(context, "source_to_json", Mock(return_value=({"@context": CONTEXT}, None))),
    ):
        result = services.validate(settings)
    assert [issue.message for issue in result.get_issues()] == []
    assert result.passed()
