"""Functions of edgefl check their arguments, and their errors speak of Python."""

import inspect

import numpy as np
import pytest

import edgefl
from edgefl import api
from edgefl.core.errors import InputError
from edgefl.python_calls import as_python

LINES = {
    "--device gpu: not on this machine": 'device="gpu": not on this machine',
    "--device cuda:7: not here": 'device="cuda:7": not here',
    "--workers 0: must be >= 1": "workers=0: must be >= 1",
    "--cluster 10.0.0.1:6379: nothing answers": 'cluster="10.0.0.1:6379": nothing answers',
    "--gpus-per-run: needs --cluster; leave it out": "gpus_per_run: needs cluster=; leave it out",
    "--set rounds=0: rounds: must be > 0": "overrides: rounds=0: rounds: must be > 0",
    "--set a:b: must be KEY=VALUE": "overrides: a:b: must be KEY=VALUE",
    "out: is not empty; --resume or --overwrite": "out: is not empty; resume=True or overwrite=True",
    "w.yaml: run it with `edgefl sweep w.yaml`": 'w.yaml: run it with edgefl.sweep("w.yaml")',
    "out: continue it with edgefl run --resume": "out: continue it with edgefl.run(..., resume=True)",
    "a.npy: no model of an edgefl run with bits": "a.npy: no model of an edgefl run with bits",
    "out: finish it with `edgefl run --resume`": "out: finish it with edgefl.run(..., resume=True)",
    "s.yaml:3: rounds: must be > 0, got -1": "s.yaml:3: rounds: must be > 0, got -1",
    "name: must be text, got --quiet-": "name: must be text, got --quiet-",
}


@pytest.mark.parametrize(("line", "told"), LINES.items())
def test_options_become_arguments(line, told):
    assert as_python(line) == told


def test_functions_keep_their_signature_and_identity():
    for name in ("run", "sweep", "read", "report", "compare", "what_if"):
        function = getattr(edgefl, name)
        assert function is getattr(edgefl, name)
        assert inspect.signature(function) == inspect.signature(getattr(api, name))
        assert function.__doc__ == getattr(api, name).__doc__


@pytest.mark.oracle
def test_command_line_keeps_its_options(capsys):
    from edgefl.cli import main

    assert main(["sweep", "bandwidth", "--workers", "0"]) == 2
    assert capsys.readouterr().err == "edgefl: --workers 0: must be >= 1\n"


def test_numbers_of_numpy_are_numbers():
    result = edgefl.run({"rounds": 1}, seed=np.int64(3), train=np.bool_(False))
    assert result.scenario["seed"] == 3


def test_all_lines_of_an_error_are_reworded():
    with pytest.raises(InputError) as refused:
        edgefl.run({}, overrides=["rounds=0", "seed=-1"])
    assert sorted(refused.value.faults) == [
        "overrides: rounds=0: rounds: must be > 0, got 0",
        "overrides: seed=-1: seed: must be >= 0, got -1",
    ]
    assert str(refused.value) == "\n".join(refused.value.faults)
