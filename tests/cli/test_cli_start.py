"""Each verb in a process that has imported nothing before: most other tests share a warm one."""

import shutil
from dataclasses import replace

import pytest

SWEEP = "base: small.yaml\ntrain: false\nseeds: [1, 2]\n"


@pytest.mark.parametrize(
    "command",
    [
        "run small.yaml -o started",
        "sweep two.yaml -o swept --workers 1",
        "validate small.yaml two.yaml",
        "list algorithms fedavg",
        "schema",
        "init churn",
        "report out -o page.html",
        "compare out out",
        "what-if out --over radio.bandwidth_hz=1e6,1e7",
        "export out --format trace -o trace.json",
        "data list",
        "doctor",
        "completion bash",
        "reproduce --recorded fedssg/table-1",
    ],
)
def test_it_does_its_work(finished, tmp_path, command):
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    alone = replace(finished, folder=tmp_path, processes=None)
    alone.write("two.yaml", SWEEP)
    done = alone(*command.split())
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout
