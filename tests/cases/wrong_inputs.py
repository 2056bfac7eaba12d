"""Wrong inputs as users write them, and words that a good answer to each has: the place, the key, and a remedy."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import edgefl
from edgefl.cli import main

Content = str | bytes


@dataclass(frozen=True)
class Answer:
    """The answer to a wrong input."""

    code: int  # exit code; that of the command line would be 2 for an InputError in Python
    text: str
    written: list[str]  # files that were not there before


@dataclass(frozen=True)
class WrongInput:
    """A wrong input.

    Args:
        call: what is run in the folder of the files: the words of a command line, or a function.
        words: which the answer must have.
        files: by name, which lie in the folder.
    """

    call: str | Callable[[], Any]
    words: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)

    def answer(self) -> Answer:
        """Return the answer to the input, in the working directory, which must be empty."""
        for name, content in self.files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = _files()
        out = io.StringIO()
        with contextlib.redirect_stderr(out), contextlib.redirect_stdout(io.StringIO()):
            code = self._run(out)
        return Answer(code, out.getvalue().strip(), sorted(_files() - before))

    def _run(self, out: io.StringIO) -> int:
        if isinstance(self.call, str):
            return main(shlex.split(self.call))
        try:
            self.call()
        except edgefl.InputError as error:
            out.write(str(error))
            return 2
        return 0


def _files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if "__pycache__" not in path.parts}


def scenario(text: Content, *words: str, files: Mapping[str, Content] | None = None) -> WrongInput:
    """Return a scenario file s.yaml that is to be validated; `files` lie beside it."""
    return WrongInput("validate s.yaml", words, {"s.yaml": text, **(files or {})})


def sweep(text: Content, *words: str) -> WrongInput:
    """Return a sweep file w.yaml that is to be run without learning."""
    return WrongInput("sweep w.yaml --no-train -o out", words, {"w.yaml": text, "s.yaml": SMALL})


def command(text: str, *words: str) -> WrongInput:
    """Return a command line beside a right scenario s.yaml and a right sweep file w.yaml."""
    return WrongInput(text, words, {"s.yaml": SMALL, "w.yaml": SWEEP})


def python(call: Callable[[], Any], *words: str) -> WrongInput:
    """Return a call beside a right scenario s.yaml and a right sweep file w.yaml."""
    return WrongInput(call, words, {"s.yaml": SMALL, "w.yaml": SWEEP})


SMALL = "rounds: 2\ndevices: {count: 6}\nserver: {participants: 3}\n"
SWEEP = "base: s.yaml\ngrid: {radio.bandwidth_hz: [5e6, 10e6]}\n"


def npz(**changes: Any) -> bytes:
    """Return a data set of 30 samples with other arrays instead of some; None leaves one out."""
    samples = np.zeros((30, 4), np.float32)
    labels = np.arange(30) % 3
    arrays = {"train_x": samples, "train_y": labels, "test_x": samples, "test_y": labels, **changes}
    stream = io.BytesIO()
    np.savez(stream, **{name: array for name, array in arrays.items() if array is not None})
    return stream.getvalue()


def array(values: Any) -> bytes:
    """Return a .npy file."""
    stream = io.BytesIO()
    np.save(stream, np.array(values, np.float32))
    return stream.getvalue()


TRACED = "devices: {count: 1}\nserver: {participants: 1}\n"
TRACE = f"{TRACED}mobility: {{kind: trace, path: t.csv}}\nradio: {{propagation: free_space}}\n"
ARRAYS = "data: {dataset: npz, path: x.npz}\ndevices: {count: 3}\nserver: {participants: 2}\n"

IN_BYTES = {
    "letters of Windows-1252": scenario("rounds: 5\nname: café\n".encode("cp1252"), "s.yaml:2", "UTF-8"),
    "UTF-16 of Windows' editor": scenario("rounds: 5\n".encode("utf-16"), "s.yaml", "UTF-8"),
    "arrays with another ending": scenario(ARRAYS, "s.yaml:1: data.path", '"x.npy"', files={"x.npy": array([1])}),
    "arrays without labels": scenario(ARRAYS, "x.npz", "train_y", files={"x.npz": npz(train_y=None)}),
    "arrays of two lengths": scenario(
        ARRAYS, "x.npz", "one label a sample", files={"x.npz": npz(train_y=np.zeros(7, int))}
    ),
    "arrays with NaN": scenario(
        ARRAYS, "x.npz", "train: x", "NaN", files={"x.npz": npz(train_x=np.full((30, 4), np.nan))}
    ),
    "labels as text": scenario(
        ARRAYS, "x.npz", "train: y", "np.unique", files={"x.npz": npz(train_y=np.array(["a", "b", "c"] * 10))}
    ),
    "a trace as a spreadsheet": scenario(
        TRACE.replace("t.csv", "t.xlsx"), "mobility.format", ".csv", files={"t.xlsx": b"PK\x03\x04"}
    ),
    "a first model of another size": scenario(
        "model: {kind: mlp, init: {kind: file, path: w.npy}}\n", "w.npy", "3", files={"w.npy": array([1, 2, 3])}
    ),
    "no module": WrongInput(
        "run s.yaml -o out", ("s.yaml:1: algorithm", "my_methods"), {"s.yaml": "algorithm: my_methods:Prox\n"}
    ),
    "no class in a module": WrongInput(
        "run s.yaml -o out",
        ("s.yaml:1: algorithm", '"Prx"'),
        {"s.yaml": "algorithm: my_methods:Prox\n", "my_methods.py": "class Prx: pass\n"},
    ),
    "a validated page": WrongInput(
        "validate report.html", ("report.html:1",), {"report.html": "<!DOCTYPE html>\n<html>"}
    ),
}
"""Files in bytes, and inputs of several files."""


PYTHON = {
    "a file that is not there": python(lambda: edgefl.run("scenario.yaml"), "scenario.yaml", "No such file"),
    "nothing": python(lambda: edgefl.run(None), "scenario", "mapping"),
    "a list of scenarios": python(lambda: edgefl.run(["s.yaml", "t.yaml"]), "scenario", "mapping"),
    "rounds of zero": python(lambda: edgefl.run({"rounds": 0}), "rounds", "> 0"),
    "a mistyped key": python(lambda: edgefl.run({"round": 5}), '"rounds"'),
    "a number of NumPy": python(lambda: edgefl.run({"rounds": np.float64(5.5)}), "rounds", "whole number"),
    "another device": python(lambda: edgefl.run("s.yaml", device="gpu"), "device", "auto"),
    "a device's number": python(lambda: edgefl.run("s.yaml", device=0), "device", "cuda:0"),
    "one override": python(lambda: edgefl.run("s.yaml", overrides="rounds=5"), "overrides", '["rounds=5"]'),
    "overrides as a mapping": python(lambda: edgefl.run("s.yaml", overrides={"rounds": 5}), "overrides", "rounds=5"),
    "an override without a value": python(lambda: edgefl.run("s.yaml", overrides=["rounds"]), "overrides", "rounds"),
    "a wrong override": python(lambda: edgefl.run("s.yaml", overrides=["rounds=0"]), "overrides", "rounds", "> 0"),
    "a seed as text": python(lambda: edgefl.run("s.yaml", seed="one"), "seed", "whole number"),
    "a negative seed": python(lambda: edgefl.run("s.yaml", seed=-1), "seed", ">= 0"),
    "results in a number": python(lambda: edgefl.run("s.yaml", train=False, out=5), "out", "path"),
    "training as text": python(lambda: edgefl.run("s.yaml", train="no"), "train", "True or False"),
    "a progress bar that cannot be called": python(
        lambda: edgefl.run("s.yaml", train=False, progress=True), "progress"
    ),
    "a cluster and a GPU": python(lambda: edgefl.run("s.yaml", cluster="auto", device="cuda"), "device"),
    "a swept run": python(lambda: edgefl.run("w.yaml"), "edgefl.sweep"),
    "a run sweep": python(lambda: edgefl.sweep("s.yaml"), "edgefl.run"),
    "a sweep of a mapping without a base": python(lambda: edgefl.sweep({"grid": {"seed": [1]}}), "base", "required"),
    "a wrong sweep of a mapping": python(
        lambda: edgefl.sweep({"base": "s.yaml", "grid": {"radio.bandwidth_hz": [0]}}), "grid.radio.bandwidth_hz", ">= 1"
    ),
    "no workers of a sweep": python(lambda: edgefl.sweep("w.yaml", workers=0), "workers", "1"),
    "workers as text": python(lambda: edgefl.sweep("w.yaml", workers="4"), "workers", "whole number"),
    "GPUs without a cluster in Python": python(
        lambda: edgefl.sweep("w.yaml", gpus_per_run=1), "gpus_per_run", "cluster="
    ),
    "a folder without results": python(lambda: edgefl.read("nope"), "nope", "no such folder"),
    "a comparison of nothing": python(lambda: edgefl.compare([]), "runs"),
    "a comparison of one text": python(lambda: edgefl.compare("fedavg"), "name a reference", "fedavg is alone"),
    "a report of no folder": python(lambda: edgefl.report([]), "result folder"),
    "pages of a single run": python(lambda: edgefl.report(["nope"], runs=True), "runs=True"),
    "a what-if of a list": python(lambda: edgefl.what_if("nope", ["radio.bandwidth_hz"]), "over", "mapping"),
    "a what-if without workers": python(lambda: edgefl.what_if("nope", {"seed": [1]}, workers=0), "workers"),
    "a what-if of a wrong range": python(
        lambda: edgefl.what_if("nope", {"radio.bandwidth_hz": "100e6..5e6"}), "over", "smaller"
    ),
    "a number among overrides": python(lambda: edgefl.run("s.yaml", overrides=[5]), "overrides", "5 in the list"),
    "a file as folder of results": python(lambda: edgefl.run("s.yaml", train=False, out="s.yaml"), "s.yaml", "out="),
    "a file instead of results": python(lambda: edgefl.read("s.yaml"), "s.yaml", "name the folder of a run"),
    "a grid of a mapping as a list": python(
        lambda: edgefl.sweep({"base": "s.yaml", "grid": [{"rounds": [1]}]}), "sweep: grid", "key: value"
    ),
    "no sweep": python(lambda: edgefl.sweep(None), "source", "a sweep file or a mapping"),
    "a key as an argument": python(lambda: edgefl.run("s.yaml", lr=0.1), "lr", 'overrides=["lr=0.1"]'),
    "a mistyped argument": python(lambda: edgefl.run("s.yaml", trian=False), "trian", '"train"'),
    "a date of NumPy": python(
        lambda: edgefl.run({"rounds": np.datetime64("2026-01-01")}), "rounds", "numpy.datetime64(2026-01-01)"
    ),
    "a set": python(lambda: edgefl.run({"targets": {0.5, 0.6}}), "scenario: targets", "list", "no order"),
    "a float between whole numbers": python(lambda: edgefl.run("s.yaml", seed=1.5), "seed", "whole number, got 1.5"),
    "a number to load": python(lambda: edgefl.load(5), "source", "the name of a scenario"),
}
"""Calls from Python."""

MAKERS = {"scenario": scenario, "sweep": sweep, "command": command}


def _written() -> dict[str, WrongInput]:
    """Return the inputs of wrong_inputs.yaml by group and name."""
    found = {}
    groups = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    for group, cases in groups.items():
        for name, case in cases.items():
            kind = next(iter(case))
            made = MAKERS[kind](case[kind], *case["words"])
            found[f"{group}: {name}"] = replace(made, files={**made.files, **case.get("files", {})})
    return found


ALL = {
    **_written(),
    **{f"bytes: {name}": wrong for name, wrong in IN_BYTES.items()},
    **{f"Python: {name}": wrong for name, wrong in PYTHON.items()},
}
