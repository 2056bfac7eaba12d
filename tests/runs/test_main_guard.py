"""A program that sweeps without a guard of its main part is told so in one line, and no results are left."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

SCENARIO = '{"rounds": 2, "devices": {"count": 6}, "server": {"participants": 3}}'
CALL = (
    f'edgefl.sweep({{"base": {SCENARIO}, "grid": {{"radio.bandwidth_hz": [5e6, 10e6]}}}}, '
    'train=False, workers=2, out="out")'
)
LINE = (
    "study.py: edgefl.sweep: the processes of its runs import this program, so call it below the line "
    'if __name__ == "__main__":'
)


def run(folder, program):
    (folder / "study.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "study.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_program_without_a_guard_ends_with_one_line(tmp_path):
    ended = run(tmp_path, f"import edgefl\n{CALL}\n")
    assert (ended.returncode, ended.stderr.splitlines(), ended.stdout) == (1, [LINE], "")
    assert [path.name for path in tmp_path.iterdir()] == ["study.py"]


def test_sweep_beside_the_guard_ends_with_one_line(tmp_path):
    ended = run(tmp_path, f'import edgefl\n{CALL}\nif __name__ == "__main__":\n    print("end")\n')
    assert (ended.returncode, ended.stderr.splitlines(), ended.stdout) == (1, [LINE], "")
    with (tmp_path / "out" / "index.csv").open(encoding="utf-8") as file:
        assert {row["status"] for row in csv.DictReader(file)} == {"interrupted"}


def test_program_with_a_guard_sweeps(tmp_path):
    ended = run(tmp_path, f'import edgefl\nif __name__ == "__main__":\n    print(list({CALL}.status))\n')
    assert (ended.returncode, ended.stdout) == (0, "['finished', 'finished']\n"), ended.stderr


def test_error_is_caught_as_wrong_input(tmp_path):
    program = f"import edgefl\ntry:\n    {CALL}\nexcept edgefl.InputError as error:\n    print(error)\n"
    ended = run(tmp_path, program)
    assert (ended.returncode, ended.stdout.splitlines(), ended.stderr) == (0, [LINE], "")
