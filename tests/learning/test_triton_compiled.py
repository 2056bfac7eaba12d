"""Our kernels for GPUs are compiled for a card, on a machine without one."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

PROGRAM = Path(__file__).parents[1] / "cases" / "compiled_kernels.py"
KERNELS = {
    *("_pack", "_unpack", "_convolve", "_input_gradient", "_weight_gradient"),
    *("_normalise", "_norm_gradients", "_pool", "_pool_gradient"),
}
LEAST_SHARED_BYTES = 99 * 1024  # of a program, on the smallest card with tensor cores for these types


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="Triton brings the assembler of a card for this machine only"
)
@pytest.mark.parametrize("precision", ["bfloat16", "float32", "tf32"])
def test_kernels_compile_for_a_card(precision, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    program = [sys.executable, str(PROGRAM), precision]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["kernel"] for row in compiled} == KERNELS
    assert max(row["shared_bytes"] for row in compiled) <= LEAST_SHARED_BYTES
    assert "UserWarning" not in done.stderr
