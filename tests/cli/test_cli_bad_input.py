"""Bad input: one clear line for each fault, exit code 2, nothing written."""

import io

import numpy as np
import pytest

X = np.zeros((20, 4), np.uint8)
Y = np.arange(20) % 3


def npz(**changes):
    stream = io.BytesIO()
    np.savez(stream, **{"train_x": X, "train_y": Y, "test_x": X, "test_y": Y, **changes})
    return stream.getvalue()


FILES = {
    "empty": ("", "s.yaml:1: must be a mapping"),
    "not YAML": ("rounds: 5\na: [1, 2\nb: }", "s.yaml:2: not valid YAML: a bracket is not closed"),
    "binary": (bytes(range(256)), "s.yaml: is not a text file"),
    "NUL": (b"rounds: 5\x00\n", "s.yaml:1: not valid YAML"),
    "a list": ("- rounds: 5\n", "s.yaml:1: must be a mapping"),
    "a key twice": ("rounds: 5\nseed: 1\nrounds: 6\n", "s.yaml:3: not valid YAML: the key rounds is here twice"),
    "a tab": ("data:\n\tdataset: digits\n", "s.yaml:2: not valid YAML"),
    "an alias of itself": ("a: &a [*a]\n", "s.yaml:1: not valid YAML"),
    "a thousand brackets": ("a: " + "[" * 2000 + "]" * 2000, "s.yaml:1: not valid YAML"),
    "an object": ("seed: !!python/object/apply:os.getpid []\n", "s.yaml:1: not valid YAML"),
    "line ends of Windows": (b"rounds: 5\r\nradio:\r\n  slot_s: -1\r\n", "s.yaml:3: radio.slot_s: must be >= 1e-06"),
    "a byte-order mark": (b"\xef\xbb\xbfround: 5\n", 's.yaml:1: round: unknown key (did you mean "rounds"?)'),
}


def test_files(edgefl):
    names = []
    for number, (content, _) in enumerate(FILES.values()):
        names.append(f"{number}/s.yaml")
        edgefl.write(names[-1], content)
    lines = edgefl.refused("validate", *names)
    assert len(lines) == len(FILES)
    for number, (line, (_, message)) in enumerate(zip(lines, FILES.values(), strict=True)):
        assert line.startswith(f"{number}/{message}")


def test_faulty_file_is_not_run(edgefl):
    edgefl.write("s.yaml", "rounds: 0\nseed: -1\n")
    lines = edgefl.refused("run", "s.yaml", "-o", "out")
    assert lines == ["s.yaml:1: rounds: must be > 0, got 0", "s.yaml:2: seed: must be >= 0, got -1"]


def test_validate_prints_every_fault_of_every_file_by_line(edgefl):
    edgefl.write(
        "many.yaml",
        "radio:\n  slot_s: 0\n  carier_hz: 5\nround: 5\ndevices:\n  count: 0\n  cpu_hz: {uniform: [2, 1]}\n"
        "algorithm: fedavgg\ntraining: {lr: -1, local_epochs: 1, local_steps: 2}\n",
    )
    edgefl.write("good.yaml", "rounds: 5\nradio: {rate: mcs}\n")
    edgefl.write("other.yaml", "seed: 1\ntargets: [0.5, 2]\n")
    lines = edgefl.refused("validate", "many.yaml", "good.yaml", "other.yaml", "nope.yaml")
    assert [line.split(": ")[:2] for line in lines] == [
        ["many.yaml:2", "radio.slot_s"],
        ["many.yaml:3", "radio.carier_hz"],
        ["many.yaml:4", "round"],
        ["many.yaml:6", "devices.count"],
        ["many.yaml:7", "devices.cpu_hz.uniform"],
        ["many.yaml:8", "algorithm"],
        ["many.yaml:9", "training"],
        ["other.yaml:2", "targets.1"],
        ["nope.yaml", "cannot be read"],
    ]
    assert "must be <= 1, got 2" in lines[-2]
    assert 'did you mean "fedavg"?' in lines[5]


def test_fault_is_printed_on_one_line(edgefl):
    edgefl.write("s.yaml", 'radio: {rate: "a\\nb\\e[31m"}\n"x\\ny": 1\n')
    lines = edgefl.refused("validate", "s.yaml")
    assert len(lines) == 2
    assert '"a\\nb\\x1b[31m"' in lines[0]


COMMANDS = {
    "option instead of a verb": (["--quite"], "VERB"),
    "unknown verb": (["rum"], 'unknown verb "rum" (did you mean "run"?); known: run, sweep'),
    "scenario instead of a verb": (["s.yaml"], 'unknown verb "s.yaml": write `edgefl run s.yaml`'),
    "sweep instead of a verb": (["bandwidth"], "write `edgefl sweep bandwidth`"),
    "unknown option": (["run", "s.yaml", "--quite"], '--quite: unknown option (did you mean "--quiet"?)'),
    "key as an option": (["run", "s.yaml", "--lr", "0.1"], "are set with --set training.lr=0.1; see edgefl run --he"),
    "key with = as an option": (["run", "s.yaml", "--num-clients=5"], "are set with --set devices.count=5"),
    "option of other programs": (["run", "s.yaml", "--gpu"], "--gpu: unknown option: write --device cuda"),
    "two settings": (
        ["run", "s.yaml", "--set", "rounds=2", "seed=1", "name=a"],
        'unrecognized arguments: seed=1 name=a: --set takes one setting: write --set "seed=1" --set "name=a"; see',
    ),
    "two scenarios": (["run", "s.yaml", "t.yaml"], "unrecognized arguments: t.yaml: name one file at a time; see"),
    "seed as text": (["run", "s.yaml", "--seed", "x"], "--seed"),
    "negative seed": (["run", "s.yaml", "--seed", "-1"], "--seed -1: seed: must be >= 0, got -1"),
    "set without =": (["run", "s.yaml", "--set", "rounds"], "--set rounds: must be KEY=VALUE"),
    "set of nothing": (["run", "s.yaml", "--set", "=5"], "must be KEY=VALUE"),
    "set of an unknown key": (["run", "s.yaml", "--set", "radio.bandwith_hz=1"], 'did you mean "bandwidth_hz"?'),
    "set into a number": (["run", "s.yaml", "--set", "rounds.x=1"], "--set rounds.x=1: there is no key x in 5"),
    "set with bad YAML": (["run", "s.yaml", "--set", "seed=[1"], "--set seed=[1: not valid YAML"),
    "folder is a file": (["run", "s.yaml", "--no-train", "-o", "s.yaml"], "s.yaml: is a file"),
    "folder below a file": (["run", "s.yaml", "--no-train", "-o", "s.yaml/x"], "s.yaml/x: cannot be written"),
    "folder that cannot be made": (
        ["run", "s.yaml", "--no-train", "-o", "/proc/x"],
        "/proc/x/checkpoints: cannot be written",
    ),
    "folder with a long name": (["run", "s.yaml", "--no-train", "-o", "x" * 300], "cannot be written: File name too"),
    "folder not empty": (["run", "s.yaml", "--no-train", "-o", "."], ".: is not empty; choose another folder with -o"),
    "export of no folder": (["export", "nope", "--format", "csv"], "nope: not a result folder: no such folder"),
    "export in no format": (["export", "nope", "--format", "xml"], "invalid choice: 'xml' (choose from"),
    "device": (
        ["run", "s.yaml", "-o", "out", "--device", "cuda:77"],
        "--device cuda:77: not on this machine; there is: ",
    ),
    "list of a key": (["list", "learning_rate"], "`edgefl explain learning_rate` describes training.lr"),
    "list of no kind": (["list", "modles"], 'unknown kind "modles" (did you mean "models"?)'),
    "report of no folder": (["report", "nope"], "nope"),
}


def test_commands_that_are_refused(edgefl):
    edgefl.write("s.yaml", "rounds: 5\n")
    for name, (arguments, message) in COMMANDS.items():
        (line,) = edgefl.refused(*arguments)
        assert message in line, name


LATE = {
    "dataset": ("data: {dataset: mnist}", "data.dataset: not found in", None),
    "more devices than samples": ("devices: {count: 5000}", "devices.count: 5000 devices cannot share 1438", None),
    "partition": ("data: {partition: {kind: file, path: f}}", "data.partition.path: ", b'{"0": [1.5]}'),
    "draws": ("devices: {cpu_hz: {normal: [0, 1]}}", "devices.cpu_hz: device 1 draws -", None),
    "rows": ("devices: {cpu_hz: {file: f, column: a}}", "devices.cpu_hz: ", b"a\n1e9\n"),
    "npz": ("data: {dataset: npz, path: f}", "data.path: ", npz(train_y=Y - 1)),
    "model": ("model: quadratic", "model.kind: ", None),
}


def test_found_when_data_and_devices_are_made(edgefl):
    for name, (text, message, file) in LATE.items():
        edgefl.write("s.yaml", f"rounds: 5\n{text}\n")
        if file is not None:
            edgefl.write("f", file)
        (line,) = edgefl.refused("run", "s.yaml", "-o", "out", "--no-train")
        assert line.startswith(f"s.yaml:2: {message}"), name


def test_too_large_for_the_memory_is_one_line(edgefl):
    edgefl.write("s.yaml", "rounds: 1\nmodel: {kind: fcn, hidden: [1e12]}\n")
    done = edgefl("run", "s.yaml", "-o", "out", "--no-train")
    assert done.returncode in {1, 2}
    assert len(done.stderr.splitlines()) == 1
    assert not (edgefl.folder / "out").exists()


def test_damaged_folder(edgefl):
    for name in ("rounds.csv", "devices.csv", "manifest.json", "summary.json"):
        edgefl.write(f"out/{name}", "{\n1,2\n")
    (line,) = edgefl.refused("export", "out", "--format", "csv")
    assert line.startswith("out/manifest.json: not JSON")
    (line,) = edgefl.refused("export", "out", "--format", "json")
    assert line.startswith("out/manifest.json: not JSON")


def mnist(count=60):
    """Data in the shape of MNIST: ten classes of 28x28."""
    x = np.zeros((count, 28, 28), np.uint8)
    y = np.arange(count) % 10
    return npz(train_x=x, train_y=y, test_x=x, test_y=y)


@pytest.mark.parametrize(
    ("changes", "line", "fault"),
    [
        (
            "data: {dataset: mnist, partition: {kind: exdir, classes: 11}}\ndevices: {count: 5}",
            1,
            "data.partition.classes: ",
        ),
        ("devices: {count: 5}\ndata: {dataset: mnist}\nmodel: vgg9", 3, "model.kind: "),
        ("data: {dataset: mnist}\nrounds: 5\ndevices: {count: 100}", 3, "devices.count: 100 devices cannot share 60 "),
    ],
)
def test_validate_refuses_what_a_run_would(edgefl, changes, line, fault):
    """With the data it refuses in the same words; without them it says so, and finds the scenario itself in order."""
    edgefl.write("s.yaml", changes + "\nradio: {rate: mcs}\n")
    unchecked = edgefl("validate", "s.yaml")
    assert (unchecked.returncode, unchecked.stderr) == (0, "")
    said = "s.yaml: ok, but not checked against its data: data.dataset: not found in "
    assert unchecked.stdout.startswith(said)
    assert unchecked.stdout.count("\n") == 1
    edgefl.write(".cache/edgefl/mnist.npz", mnist())
    found = edgefl.refused("validate", "s.yaml")
    assert found == edgefl.refused("run", "s.yaml", "-o", "out", "--no-train")
    assert found[0].startswith(f"s.yaml:{line}: {fault}")


def test_missing_trace_is_reported_at_its_path(edgefl):
    edgefl.write(
        "s.yaml",
        "mobility: {kind: trace, path: rides.csv}\n"
        "radio: {rate: mcs, propagation: {kind: umi_los, out_of_range: clamp}}\n",
    )
    (line,) = edgefl.refused("validate", "s.yaml")
    assert line.startswith("s.yaml:1: mobility.path: no such file or folder as rides.csv beside the scenario file ")
    assert edgefl.refused("run", "s.yaml", "-o", "out", "--no-train")[0].startswith("s.yaml:1: mobility.path: ")


def test_rising_error_rates_are_refused_with_the_line_of_their_file(edgefl):
    edgefl.write("curves.csv", "mcs,snr_db,bler\n0,-6,1\n0,-5,0.05\n0,-4,0.6\n")
    edgefl.write("s.yaml", "rounds: 1\nradio:\n  rate: mcs\n  errors: {kind: bler, curves: curves.csv}\n")
    lines = edgefl.refused("run", "s.yaml", "-o", "out")
    assert len(lines) == 1
    assert lines[0].startswith("s.yaml:4: radio.errors: curves: ")
    assert "curves.csv:3: mcs 0 has an error rate of 0.05 at -5 dB" in lines[0]
    assert not (edgefl.folder / "out").exists()
