"""The batch scripts of docs/slurm under stand-ins of the programs that they start."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "docs" / "slurm"
SLURM = {
    "SLURM_JOB_ID": "123456",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_CPUS_PER_TASK": "16",
    "SLURMD_NODENAME": "node7",
    "SLURM_ARRAY_TASK_ID": "3",
}


@pytest.fixture
def started(tmp_path):
    """Runs a script and returns the command lines of the programs that it started."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("ray", "srun", "edgefl"):
        stand_in = programs / name
        stand_in.write_text(f'#!/bin/bash\necho "{name} $*" >> "{tmp_path}/started"\n')
        stand_in.chmod(0o755)

    def run(script, **environment):
        subprocess.run(
            ["bash", SCRIPTS / script, "sweep.yaml", "out"],
            env={**os.environ, **SLURM, "SLURM_SUBMIT_DIR": str(tmp_path), **environment},
            check=True,
            capture_output=True,  # so that it also waits for what the script left in the background
            timeout=60,
        )
        return sorted((tmp_path / "started").read_text().splitlines())

    return run


@pytest.mark.process
def test_ray_script_starts_a_head_the_other_nodes_and_the_sweep(started):
    sweep, head, others = started("ray.sbatch")
    port = 20000 + 123456 % 10000
    assert sweep == f"edgefl sweep sweep.yaml -o out --resume --cluster node7:{port}"
    assert head.startswith(f"ray start --head --port={port} --num-cpus=16 ")
    assert others == (
        "srun --no-kill --kill-on-bad-exit=0 --nodes=3 --ntasks=3 --exclude=node7 "
        f"ray start --address=node7:{port} --num-cpus=16 --block"
    )


@pytest.mark.process
def test_scripts_of_one_node_start_no_others(started):
    assert len(started("ray.sbatch", SLURM_JOB_NUM_NODES="1")) == 2


@pytest.mark.process
def test_array_runs_one_seed_a_task(started):
    assert started("array.sbatch") == ["edgefl sweep sweep.yaml -o out/seed-3 --set seed=3 --resume"]
