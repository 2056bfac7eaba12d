"""Verbs in a process that has imported nothing before: most other tests share a warm one.

Runs, sweeps and studies start by themselves where tests interrupt them.
"""

import shutil
from dataclasses import replace

import pytest


@pytest.mark.parametrize(
    "command",
    [
        "list algorithms fedavg",
        "init churn",
        "report out -o page.html",
        "compare out out",
        "what-if out --over radio.bandwidth_hz=1e6,1e7",
        "export out --format trace -o trace.json",
        "data list",
        "doctor",
        "completion bash",
        "reproduce --recorded fedssg/algorithm-1",
    ],
)
def test_command_finishes(finished, tmp_path, command):
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    alone = replace(finished, folder=tmp_path, processes=None)
    done = alone(*command.split())
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout
