"""`edgefl calibrate` as users meet it."""

import pytest
from calibration_cases import LAW, counts_text, downloads, log_text, networks, training


@pytest.fixture
def shell(edgefl):
    """A shell with a log and its counts."""
    counts = networks(5)
    edgefl.write("counts.csv", counts_text(counts))
    edgefl.write("log.csv", log_text([*training(LAW, counts), *downloads(16e6, 0, {"net0": 1e6}, 3, "1")]))
    return edgefl


def test_sections_are_printed_and_errors_beside_them(shell):
    done = shell("calibrate", "log.csv", "--counts", "counts.csv")
    assert done.returncode == 0
    assert "    convolution_flops_per_s: 3.44e10" in done.stdout
    assert "  bandwidth_hz: 1.6e7" in done.stdout
    lines = done.stderr.splitlines()
    assert lines[0] == "Errors of fits that leave out each network in turn:"
    assert lines[-6] == "  seconds of train: mean 0.0 %, worst +0.0 % (5 rows left out)"
    assert lines[-5:] == [f"    net{number}: +0.0 %" for number in range(5)]
    assert [f"# {line}" for line in lines] == done.stdout.splitlines()[1 : 1 + len(lines)]
    assert shell("calibrate", "log.csv", "--quiet").stderr == ""


def test_models_of_scenarios_take_the_place_of_counts(shell):
    shell.write("fcn.yaml", "data: {dataset: digits}\nmodel: fcn\n")
    assert shell("calibrate", "log.csv", "--counts", "counts.csv", "--model", "x=fcn.yaml").stderr == (
        'edgefl: --model x: log.csv has no network "x"\n'
    )
    shell.write("small.csv", "device,phase,network,seconds,batch_size,steps\npi,train,a,3,16,10\npi,train,a,6,32,10\n")
    done = shell("calibrate", "small.csv", "--model", "a=fcn.yaml", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "    matmul_flops_per_s: " in done.stdout
    for options, told in {
        ("--model", "a"): "--model a: write NAME=SCENARIO, such as lenet=my-lenet.yaml",
        ("--model", "a=fcn.yaml", "--model", "a=quickstart"): (
            '--model a=quickstart: "a" has the model of fcn.yaml already: leave one of them out'
        ),
        ("--model", "a=nowhere.yaml"): "nowhere.yaml: cannot be read: No such file or directory",
    }.items():
        assert shell.refused("calibrate", "small.csv", *options, "-o", "new") == [told]
    assert not (shell.folder / "new").exists()


def test_a_folder_gets_scenario_table_and_picture(shell):
    done = shell("calibrate", "log.csv", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    written = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("written")]
    assert written == [
        f"out/{name}" for name in ("scenario.yaml", "calibration.csv", "profile.yaml", "times.csv", "calibration.svg")
    ]
    assert (shell.folder / "out/times.csv").read_text().startswith("device,network,batch_size,step_s\npi,net0,16,")
    (line,) = shell.refused("calibrate", "log.csv", "-o", "out")
    assert line == "out/scenario.yaml: exists: choose another folder, or add --overwrite"
    assert shell("calibrate", "log.csv", "-o", "out", "--overwrite").returncode == 0
    for name in ("scenario.yaml", "calibration.csv", "times.csv", "calibration.svg"):
        shell.write(f"own/{name}", "# mine\nrounds: 3\n")
        (line,) = shell.refused("calibrate", "log.csv", "-o", "own", "--overwrite")
        assert line.startswith(f"own/{name}: edgefl has not written this file, or it is damaged")
        (shell.folder / "own" / name).unlink()


def test_a_wrong_log_is_refused_in_a_line_and_nothing_is_written(shell):
    shell.write("wrong.csv", "device,phase,seconds\npi,idle,1\npi,idle,x\n")
    assert shell.refused("calibrate", "wrong.csv", "-o", "new") == ['wrong.csv:3: seconds: must be a number, got "x"']
    assert not (shell.folder / "new").exists()
    assert shell.refused("calibrate", "nowhere.csv") == ["nowhere.csv: cannot be read: No such file or directory"]


def test_calibrate_imports_its_modules_late(shell):
    done = shell("calibrate", "log.csv", python_options=["-X", "importtime"])
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "edgefl.calibration.calibration" in modules
    assert not modules & {"torch", "plotly", "pandas", "simpy", "matplotlib"}
    done = shell("calibrate", "--help", python_options=["-X", "importtime"])
    assert "argparse" in done.stderr
    assert not [line for line in done.stderr.splitlines() if "scipy" in line or "numpy" in line]
