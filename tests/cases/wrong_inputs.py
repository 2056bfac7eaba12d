"""Wrong inputs as users write them, and words that a good answer to each has: the place, the key, and a remedy."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
    """Return a data set of 30 samples with other arrays in place of some; None leaves one out."""
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


YAML = {
    "a tab before a key": scenario("data:\n\tdataset: digits\n", "s.yaml:2", "a tab", "spaces"),
    "no space after a colon in a section": scenario(
        "rounds: 5\nradio:\n  bandwidth_hz:20e6\n", "s.yaml:2", "bandwidth_hz: 20e6"
    ),
    "a list as a section": scenario(
        "radio:\n  - bandwidth_hz: 20e6\n  - slot_s: 0.001\n", "s.yaml:1", "write radio: {bandwidth_hz"
    ),
    "letters of Windows-1252": scenario("rounds: 5\nname: café\n".encode("cp1252"), "s.yaml:2", "UTF-8"),
    "UTF-16 of Windows' editor": scenario("rounds: 5\n".encode("utf-16"), "s.yaml", "UTF-8"),
    "an at sign first": scenario("rounds: 5\nname: @home\n", "s.yaml:2", "write it in quotes"),
    "equals signs": scenario("rounds = 60\nseed = 1\n", "s.yaml:1", "rounds: 60"),
    "an include": scenario("base: 1\nradio: !include radio.yaml\n", "s.yaml:2", "!include"),
    "only comments": scenario("# rounds: 5\n", "s.yaml:1", "rounds: 60"),
    "a template": scenario("rounds: {{ rounds }}\n", "s.yaml:1", "{{ rounds }} are not filled in"),
    "a list of keys": scenario("- rounds: 5\n- seed: 1\n", "s.yaml:1", "mapping", 'leave out the "- "'),
    "a key twice in braces": scenario("training: {lr: 0.1, lr: 0.2}\n", "s.yaml:1", "lr", "remove one"),
}
"""Faults of the YAML itself."""

KEYS = {
    "a number as a word": scenario("rounds: sixty\n", "s.yaml:1: rounds", "whole number"),
    "half a round": scenario("rounds: 60.5\n", "s.yaml:1: rounds", "whole number"),
    "megahertz": scenario("radio: {bandwidth_hz: 20 MHz}\n", "s.yaml:1: radio.bandwidth_hz", "20e6"),
    "a range as a list": scenario(
        "devices: {cpu_hz: [1e9, 3e9]}\n", "s.yaml:1: devices.cpu_hz", "write {uniform: [a, b]}"
    ),
    "bounds in the wrong order": scenario("devices: {cpu_hz: {uniform: [3e9, 1e9]}}\n", "devices.cpu_hz", "a <= b"),
    "more participants than devices": scenario("devices: {count: 50}\nserver: {participants: 80}\n", "participants"),
    "a number in place of a section": scenario("devices: 100\n", "s.yaml:1: devices", "write devices: {count: 100}"),
    "a policy in place of a section": scenario("server: deadline\n", "s.yaml:1: server", "policy"),
    "a name in place of a radio": scenario("radio: 5G\n", "s.yaml:1: radio"),
    "a preset in place of devices": scenario("devices: phone\n", "s.yaml:1: devices", "write devices: {preset: phone}"),
    "no interference": scenario("radio: {interference: no}\n", "s.yaml:1: radio.interference", ": leave it out"),
    "models, switched on": scenario("report: {models: on}\n", "s.yaml:1: report.models", 'must be a list, got "on"'),
    "no training": scenario("train: off\n", "s.yaml:1: train", "an option of the command line: --no-train"),
    "a scenario around all": scenario("scenario:\n  rounds: 3\n", "s.yaml:1: scenario", "leave this line out"),
    "a list to merge": scenario("x: &x [1]\nradio:\n  <<: *x\n", "s.yaml:1: not valid YAML", "anchor of a mapping"),
    "a broadcast": scenario("radio: {preset: nr, downlink: broadcast}\n", "radio.downlink", "radio.sharing to fixed"),
    "a data set in capitals": scenario("data: {dataset: MNIST}\n", "s.yaml:1: data.dataset", '"mnist"'),
    "an algorithm with a hyphen": scenario("algorithm: fed-prox\n", "s.yaml:1: algorithm", '"fedprox"'),
    "an algorithm that is not there": scenario("algorithm: fedopt_yogi\n", "s.yaml:1: algorithm", "known"),
    "a model's size": scenario("model: {kind: resnet}\n", "s.yaml:1: model", "resnet18"),
    "an optimiser": scenario("training: {optimizer: lbfgs}\n", "s.yaml:1: training.optimizer", "adam"),
    "batches of everything": scenario("training: {batch_size: all}\n", "s.yaml:1: training.batch_size", "full"),
    "epochs and steps": scenario("training: {local_epochs: 2, local_steps: 5}\n", "s.yaml:1: training", "local_steps"),
    "an alpha of zero": scenario("data: {partition: {kind: dirichlet, alpha: 0}}\n", "data.partition.alpha", "> 0"),
    "an alpha of equal parts": scenario("data: {partition: {kind: iid, alpha: 1}}\n", "data.partition.alpha"),
    "targets in per cent": scenario("targets: [0.8, 90]\n", "s.yaml:1: targets.1", "0.9"),
    "one target": scenario("targets: 0.9\n", "s.yaml:1: targets", "[0.9]"),
    "a slash in a name": scenario("name: fedavg/20MHz\n", "s.yaml:1: name"),
    "churn as a rate": scenario("churn: 0.1\n", "s.yaml:1: churn", "bernoulli"),
    "another layout of cells": scenario("cells: {layout: hexagon}\n", "s.yaml:1: cells.layout", "hexagon"),
    "a radius below the least distance": scenario("cells: {radius_m: 5, min_distance_m: 10}\n", "cells", "radius_m"),
    "a member as a list": scenario("algorithm:\n- kind: fedavg\n", "s.yaml:1: algorithm", "leave out", "- "),
    "a member as a key": scenario(
        "data: {partition: {dirichlet: 0.3}}\n", "data.partition", "{kind: dirichlet, alpha: 0.3}"
    ),
    "one bound": scenario("devices: {cpu_hz: {uniform: [1e9]}}\n", "devices.cpu_hz.uniform", "one more entry"),
    "a negative deviation": scenario("devices: {cpu_hz: {normal: [2e9, -1]}}\n", "devices.cpu_hz.normal", ">= 0"),
    "a probability in per cent": scenario("churn: {kind: bernoulli, probability: 80}\n", "churn.probability", "0.8"),
    "half a policy's name": scenario("server: {policy: async}\n", "s.yaml:1: server.policy", '"asynchronous"'),
    "a preset with more letters": scenario("devices: {preset: smartphone}\n", "s.yaml:1: devices.preset", '"phone"'),
    "one hidden layer": scenario("model: {kind: mlp, hidden: 64}\n", "s.yaml:1: model.hidden", "write [64]"),
    "one value of a what-if": scenario(
        "report: {what_if: {radio.bandwidth_hz: 5e6}}\n", "report.what_if", "5e6..100e6"
    ),
    "a variable in a path": scenario(
        "data: {dataset: npz, path: $HOME/x.npz}\n", "s.yaml:1: data.path", "$HOME are not replaced"
    ),
    "a dotted key": scenario("radio.bandwidth_hz: 20e6\n", "s.yaml:1", "write radio: {bandwidth_hz: 20000000}"),
    "defaults of Hydra": scenario("defaults: [base]\nrounds: 2\n", "s.yaml:1: defaults", "extends"),
    "a seed of 64 bits": scenario("seed: 18446744073709551615\n", "s.yaml:1: seed", "must be < 2^63"),
}
"""Values of keys in scenarios."""

PLACES = "device,time_s,x_m,y_m\n0,0,0,0\n0,10,5,5\n"
TRACED = "devices: {count: 1}\nserver: {participants: 1}\n"
TRACE = f"{TRACED}mobility: {{kind: trace, path: t.csv}}\nradio: {{propagation: free_space}}\n"
LINKS = f"{TRACED}radio: {{kind: trace, trace: {{kind: csv, path: l.csv}}}}\n"
STAYS = f"{TRACED}churn: {{kind: trace, path: c.csv}}\n"
ARRAYS = "data: {dataset: npz, path: x.npz}\ndevices: {count: 3}\nserver: {participants: 2}\n"
PARTS = "data: {partition: {kind: file, path: p.json}}\ndevices: {count: 2}\nserver: {participants: 2}\n"
CLOCKS = "devices: {count: 2, cpu_hz: {file: d.csv, column: cpu_hz}}\nserver: {participants: 2}\n"

FILES = {
    "no arrays": scenario(ARRAYS, "s.yaml:1: data.path", "x.npz", "no such file"),
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
    "no images": scenario("data: {dataset: image_folder, path: photos}\n", "s.yaml:1: data.path", "photos"),
    "a folder without images": scenario(
        "data: {dataset: image_folder, path: photos}\n", "photos", "each class", files={"photos/notes.txt": "a"}
    ),
    "no partition": scenario(PARTS, "s.yaml:1: data.partition.path", "p.json", "no such file"),
    "a partition with a comma too many": scenario(
        PARTS, "p.json", "line 1", "comma", files={"p.json": '{"0": [1, 2], "1": [3],}'}
    ),
    "a partition beyond the samples": scenario(PARTS, "p.json", "99999", files={"p.json": '{"0": [1], "1": [99999]}'}),
    "a partition without a device": scenario(PARTS, "p.json", "1", files={"p.json": '{"0": [1, 2]}'}),
    "no list of devices": scenario(CLOCKS, "s.yaml:1: devices.cpu_hz", "d.csv", "no such file"),
    "devices without the column": scenario(CLOCKS, "d.csv:1", '"cpu"', "cpu_hz", files={"d.csv": "cpu\n1e9\n2e9\n"}),
    "devices with units": scenario(
        CLOCKS, "d.csv:2", "cpu_hz", "must be a number", files={"d.csv": "cpu_hz\n1.5 GHz\n2 GHz\n"}
    ),
    "too few devices": scenario(CLOCKS, "d.csv", "devices.count", files={"d.csv": "cpu_hz\n1e9\n"}),
    "no trace": scenario(TRACE, "s.yaml:3: mobility.path", "t.csv", "no such file"),
    "a trace with semicolons": scenario(TRACE, "t.csv:1", "write ','", files={"t.csv": PLACES.replace(",", ";")}),
    "a trace with other columns": scenario(TRACE, "t.csv:1", "x_m", files={"t.csv": "id,t,x,y\n0,0,0,0\n"}),
    "a trace as a spreadsheet": scenario(
        TRACE.replace("t.csv", "t.xlsx"), "mobility.format", ".csv", files={"t.xlsx": b"PK\x03\x04"}
    ),
    "a trace with a decimal comma": scenario(TRACE, "t.csv:2", files={"t.csv": 'device,time_s,x_m,y_m\n0,0,"1,5",0\n'}),
    "a link trace with a negative rate": scenario(
        LINKS, "l.csv:2", "downlink_bps", files={"l.csv": "device,time_s,downlink_bps,uplink_bps\n0,0,-5,1e6\n"}
    ),
    "a link trace of rates and SNRs": scenario(
        LINKS, "l.csv:1", "uplink_bps", files={"l.csv": "device,time_s,downlink_bps,uplink_snr_db\n0,0,1e6,5\n"}
    ),
    "a stay that ends before it begins": scenario(STAYS, "c.csv:2", files={"c.csv": "device,on_s,off_s\n0,50,20\n"}),
    "no packet errors": scenario("radio: {errors: {kind: bler, curves: b.csv}}\n", "s.yaml:1: radio.errors.curves"),
    "no first model": scenario("model: {init: {kind: file, path: w.npy}}\n", "s.yaml:1: model.init.path", "w.npy"),
    "a first model of another size": scenario(
        "model: {kind: mlp, init: {kind: file, path: w.npy}}\n", "w.npy", "3", files={"w.npy": array([1, 2, 3])}
    ),
    "no schedule": scenario("server: {selection: {kind: schedule, file: r.json}}\n", "server.selection.file", "r.json"),
    "a folder as a file": scenario(STAYS, "s.yaml:3: churn.path", "folder", files={"c.csv/readme.txt": "a"}),
    "no module": WrongInput(
        "run s.yaml -o out", ("s.yaml:1: algorithm", "my_methods"), {"s.yaml": "algorithm: my_methods:Prox\n"}
    ),
    "no class in a module": WrongInput(
        "run s.yaml -o out",
        ("s.yaml:1: algorithm", '"Prx"'),
        {"s.yaml": "algorithm: my_methods:Prox\n", "my_methods.py": "class Prx: pass\n"},
    ),
}
"""Files that scenarios name."""

SWEEPS = {
    "one value in a grid": sweep("base: s.yaml\ngrid: {radio.bandwidth_hz: 20e6}\n", "w.yaml:2", "write [20"),
    "no grid around a key": sweep("base: s.yaml\nradio.bandwidth_hz: [5e6, 10e6]\n", "w.yaml:2", "under grid"),
    "a section in a grid": sweep("base: s.yaml\ngrid:\n  radio: {bandwidth_hz: [5e6, 10e6]}\n", "radio.bandwidth_hz"),
    "a mistyped key in a grid": sweep("base: s.yaml\ngrid:\n  radio.bandwith_hz: [5e6]\n", "w.yaml:3", "bandwidth_hz"),
    "a unit in a grid": sweep(
        "base: s.yaml\ngrid:\n  radio.bandwidth_hz:\n    - 5e6\n    - 10 MHz\n", "w.yaml:5", "10e6"
    ),
    "no base": sweep("grid: {radio.bandwidth_hz: [5e6, 10e6]}\n", "w.yaml", "base", "required"),
    "a base that is not there": sweep(
        "base: quickstrat.yaml\ngrid: {rounds: [1]}\n", "w.yaml:1: base", "quickstrat.yaml"
    ),
    "a list of bases": sweep("base: [s.yaml, t.yaml]\n", "w.yaml:1: base", "text"),
    "a number of seeds": sweep("base: s.yaml\nseeds: 5\n", "w.yaml:2: seeds", "1..5 for 5 seeds"),
    "a seed twice": sweep("base: s.yaml\nseeds: [1, 2, 2]\n", "w.yaml:2: seeds"),
    "a range of seeds": sweep("base: s.yaml\nseeds: 1-5\n", "w.yaml:2: seeds", "1..5"),
    "seeds in a grid": sweep("base: s.yaml\ngrid: {seed: [1, 2]}\n", "w.yaml:2: grid.seed", "seeds"),
    "a range downwards": sweep("base: s.yaml\ngrid: {radio.bandwidth_hz: 100e6..5e6}\n", "w.yaml:2", "smaller"),
    "a range of one value": sweep("base: s.yaml\ngrid: {radio.bandwidth_hz: 5e6..100e6:1}\n", "w.yaml:2", "2"),
    "a range in Python": sweep(
        "base: s.yaml\ngrid:\n  devices.count: range(10, 50, 10)\n", "w.yaml:3", "such as 5e6..100e6"
    ),
    "a range with a hyphen": sweep("base: s.yaml\ngrid: {radio.bandwidth_hz: 5e6-100e6}\n", "w.yaml:2", "5e6..100e6"),
    "lists of unequal length": sweep(
        "base: s.yaml\nzip: {devices.count: [10, 20], server.participants: [5]}\n", "w.yaml:2: zip", "same length"
    ),
    "a key varied twice": sweep(
        "base: s.yaml\ngrid: {devices.count: [10, 20]}\npoints: [{devices.count: 5}]\n", "devices.count", "leave"
    ),
    "two equal points": sweep(
        "base: s.yaml\ngrid: {algorithm: [fedavg, {kind: fedavg}]}\n", "w.yaml:2", "same scenario"
    ),
    "points as a mapping": sweep("base: s.yaml\npoints: {devices.count: [10, 20]}\n", "w.yaml:2: points", "- "),
    "an empty list": sweep("base: s.yaml\ngrid: {devices.count: []}\n", "w.yaml:2", "empty"),
    "a million points": sweep(
        "base: s.yaml\ngrid: {devices.count: 10..200:190, rounds: 1..200:190, cells.radius_m: 50..500:190}\n",
        "100000 points",
    ),
    "a mistyped key of a sweep": sweep("base: s.yaml\ngird: {devices.count: [10]}\n", "w.yaml:2", '"grid"'),
    "a grid as a list": sweep("base: s.yaml\ngrid:\n- radio.bandwidth_hz: [5e6]\n", "w.yaml:2: grid", "key: value"),
    "a point as a setting": sweep("base: s.yaml\npoints:\n- rounds=5\n", "w.yaml:3: points.0", "write rounds: 5"),
}
"""Sweep files."""

COMMANDS = {
    "a mistyped verb": command("rum s.yaml", "run"),
    "a scenario that is not there": command("run scenario.yaml", "scenario.yaml", "No such file"),
    "a scenario with another ending": command("run s.yml", "s.yml", '"s.yaml"'),
    "a scenario without ending": command("run s", "s.yaml"),
    "a sweep that is run": command("run w.yaml", "edgefl sweep w.yaml"),
    "a scenario that is swept": command("sweep s.yaml", "edgefl run s.yaml"),
    "a key as an option": command("run s.yaml --rounds 5", "--set rounds=5"),
    "a setting without equals sign": command("run s.yaml --set rounds 5", "--set rounds=5"),
    "a setting with a unit": command("run s.yaml --set radio.bandwidth_hz=20MHz", "--set", "20e6"),
    "a setting with a colon": command("run s.yaml --set rounds:5", "rounds=5"),
    "a seed with an exponent": command("run s.yaml --seed 1e3", "--seed", "write 1000"),
    "a dash of typography": command("run s.yaml \u2014no-train", "write --no-train"),
    "an address": command("run https://example.org/s.yaml", "https://example.org/s.yaml", "download it first"),
    "another word for a GPU": command("run s.yaml --device gpu", "--device", "auto"),
    "a GPU that is not there": command("run s.yaml --device cuda:9", "--device", "cpu"),
    "results in a file": command("run s.yaml --no-train -o w.yaml", "w.yaml"),
    "automatic workers": command("sweep w.yaml --workers auto", "--workers", "whole number"),
    "no workers": command("sweep w.yaml --workers 0", "--workers", "1"),
    "GPUs without a cluster": command("sweep w.yaml --gpus-per-run 1", "--gpus-per-run", "--cluster"),
    "a report of nothing": command("report results", "results"),
    "a comparison with itself alone": command("compare out", "name a reference and the runs to compare"),
    "an export in no format": command("export . --format xlsx", "csv"),
    "a what-if without values": command("what-if out --over radio.bandwidth_hz", "--over", "5e6..100e6"),
    "a list of something else": command("list optimizers", "optimisers"),
    "a validated page": WrongInput(
        "validate report.html", ("report.html:1",), {"report.html": "<!DOCTYPE html>\n<html>"}
    ),
    "a dry run on a cluster": command("sweep w.yaml --dry-run --cluster auto", "--cluster", "leave one of the two out"),
    "two scenarios": command("run s.yaml w.yaml", "w.yaml", "one file at a time"),
    "a report of a scenario": command("report s.yaml", "s.yaml", "name the folder of a run"),
    "a section as a setting": command("run s.yaml --set training=fast", "must be a mapping", "local_epochs"),
}
"""Command lines."""

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
    "results in place of a file": python(lambda: edgefl.run("s.yaml", train=False, out="s.yaml"), "s.yaml", "out="),
    "a file in place of results": python(lambda: edgefl.read("s.yaml"), "s.yaml", "name the folder of a run"),
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

ALL = {
    f"{group}: {name}": wrong
    for group, cases in {
        "YAML": YAML,
        "keys": KEYS,
        "files": FILES,
        "sweeps": SWEEPS,
        "commands": COMMANDS,
        "Python": PYTHON,
    }.items()
    for name, wrong in cases.items()
}
