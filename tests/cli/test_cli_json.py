"""`--json`: one document of standard JSON on standard output, and the exit codes of the text."""

import pytest

from edgefl.cli.json_output import fault_as_json
from edgefl.cli.listing import CATALOGUES
from edgefl.core.strict_json import strict_json
from edgefl.core.words import words_of

SMALL = "rounds: 2\ndevices: {count: 4}\n"


@pytest.mark.parametrize("parts", words_of(__file__, "json_faults.yaml"), ids=lambda parts: parts["fault"])
def test_parts_of_a_fault(parts):
    assert {"fault": parts["fault"], **fault_as_json(parts["fault"])} == parts


def test_validate(edgefl):
    edgefl.write("good.yaml", SMALL)
    edgefl.write("bad.yaml", "participants: 5\nradio: {bandwidth_hz: -1}\n")
    done = edgefl("validate", "good.yaml", "bad.yaml", "--json")
    assert done.returncode == 2
    document = strict_json(done.stdout)
    assert [(one["file"], one["ok"]) for one in document["files"]] == [("good.yaml", True), ("bad.yaml", False)]
    assert [(one["file"], one["line"], one["key"]) for one in document["faults"]] == [
        ("bad.yaml", 1, "participants"),
        ("bad.yaml", 2, "radio.bandwidth_hz"),
    ]
    assert document["faults"][0]["remedy"] == "server.participants"
    assert len(done.stderr.splitlines()) >= 2  # the same faults, for people
    done = edgefl("validate", "good.yaml", "--json")
    assert done.returncode == 0
    assert strict_json(done.stdout) == {"files": [{"file": "good.yaml", "ok": True, "unchecked": None}], "faults": []}


def test_run(edgefl):
    edgefl.write("s.yaml", SMALL)
    done = edgefl("run", "s.yaml", "--no-train", "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    document = strict_json(done.stdout)
    assert (document["status"], document["folder"], document["error"]) == ("finished", "out", None)
    summary = strict_json((edgefl.folder / "out/summary.json").read_text())
    assert document["summary"] == summary
    assert document["summary"]["rounds"] == 2
    assert "round 2/2" in done.stderr
    done = edgefl("run", "s.yaml", "--no-train", "--json", "-o", "out")
    assert done.returncode == 2
    (fault,) = strict_json(done.stdout)["faults"]
    assert fault["file"] == "out"


def test_failed_run(edgefl):
    edgefl.write("s.yaml", f"{SMALL}training: {{lr: 1e30}}\n")
    done = edgefl("run", "s.yaml", "--json", "-o", "out", "--device", "cpu")
    assert done.returncode == 1
    document = strict_json(done.stdout)
    assert document["status"] == "failed"
    assert "diverged" in document["error"]


def test_dry_run(edgefl):
    edgefl.write("s.yaml", SMALL)
    done = edgefl("run", "s.yaml", "--dry-run", "--no-train", "--json")
    assert {"devices", "virtual", "takes"} <= strict_json(done.stdout)["forecast"].keys()


def test_list(edgefl):
    kinds = {one["kind"]: one for one in strict_json(edgefl("list", "--json").stdout)["kinds"]}
    assert kinds.keys() == {*CATALOGUES, "presets", "devices", "scenarios", "recipes"}
    assert kinds["partitions"]["key"] == "data.partition"
    assert kinds["partitions"]["size"] == len(CATALOGUES["partitions"].members)
    names = strict_json(edgefl("list", "codecs", "--json").stdout)["names"]
    assert [one["name"] for one in names] == list(CATALOGUES["codecs"].members)
    (page,) = strict_json(edgefl("list", "policies", "deadline", "--json").stdout)["names"]
    assert [one["where"] for one in page["found"]] == ["server.policy"]


def test_reproduce(edgefl):
    recipes = {one["name"]: one for one in strict_json(edgefl("reproduce", "--json").stdout)["recipes"]}
    assert recipes["fedssg/table-3"]["data"][0]["name"] == "mnist"
    done = edgefl("reproduce", "third-party/pi-compute-macs", "--recorded", "--json")
    assert done.returncode == 1  # as without --json
    (comparison,) = strict_json(done.stdout)["comparisons"]
    assert comparison["state"] == "a named gap"
    for cell in comparison["cells"]:
        if cell["difference"] is not None:
            assert cell["difference"] == pytest.approx(cell["measured"] - cell["published"])
