"""The benchmark of a GPU, tried on a CPU with a few small clients."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "gpu.py"
TINY = [sys.executable, str(PROGRAM), "--device", "cpu", "--tiny"]


@pytest.mark.process
def test_each_side_is_compared_with_the_bare_loop_of_the_same_call(tmp_path):
    kept = tmp_path / "rows.jsonl"
    options = ["--workloads", "W3", "BLAZE-CNN", "--sides", "bare", "edgefl", "bfloat16", "--out", str(kept)]
    printed = subprocess.run([*TINY, *options], check=True, capture_output=True, text=True).stdout
    assert kept.read_text() == printed
    head, *rows = [json.loads(line) for line in printed.splitlines()]
    assert head["device"] == "CPU"
    assert [(row["workload"], row["side"]) for row in rows] == [
        (workload, side) for workload in ("W3", "BLAZE-CNN") for side in ("bare", "edgefl", "bfloat16")
    ]
    for row in rows:
        assert 0 < row["least_s"] <= row["round_s"] <= row["most_s"]
        bare = next(one for one in rows if (one["workload"], one["side"]) == (row["workload"], "bare"))
        if row["side"] != "bare":
            assert row["over_bare"] == bare["round_s"] / row["round_s"]


@pytest.mark.process
def test_sides_after_the_deadline_are_named(tmp_path):
    options = ["--seconds", "1", "--workloads", "W1", "--sides", "bare", "vmap"]
    done = subprocess.run([*TINY, *options], check=True, capture_output=True, text=True)
    _, *rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["side"], row["left_out"]) for row in rows] == [
        ("bare", "the time is up"),
        ("vmap", "the time is up"),
    ]


@pytest.mark.oracle
def test_a_bare_loop_takes_a_network_with_batch_normalisation(monkeypatch):
    monkeypatch.syspath_prepend(PROGRAM.parent)
    from workloads import WORKLOADS, bare

    few = {"clients": 2, "samples": 4, "participants": 1, "work": {"local_epochs": 1}}
    assert len(bare(replace(WORKLOADS["BLAZE-R18"], model={"kind": "svhn_cnn"}, **few), 1, "cpu")) == 1
