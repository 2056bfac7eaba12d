"""The imports of a run: packages that it does not need would make every start slower."""

import subprocess
import sys
from pathlib import Path

import pytest

from edgefl.learning.torch_device import gpu_count

SCENARIO = Path(__file__).parents[2] / "scenarios" / "00-hello.yaml"
# pyarrow imports pandas when it is handed Python lists; the others are modules that only some scenarios need.
HEAVY = ("pandas", "plotly", "networkx", "sklearn", "scipy.optimize", "scipy.signal", "scipy.stats", "torchvision")


def imported_by(arguments):
    """Return the heavy modules, and torch, that one command has imported at its end."""
    program = (
        "import sys\n"
        "from edgefl.cli import main\n"
        f"assert main({arguments!r}) == 0\n"
        f"print([name for name in {(*HEAVY, 'torch')!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.process
def test_a_run_with_its_report_imports_no_package_that_it_does_not_need(tmp_path):
    assert imported_by(["run", str(SCENARIO), "-o", str(tmp_path / "out"), "--quiet"]) == "['torch']"


@pytest.mark.process
def test_a_run_without_learning_does_not_import_torch(tmp_path):
    assert imported_by(["run", str(SCENARIO), "-o", str(tmp_path / "out"), "--no-train", "--quiet"]) == "[]"


@pytest.mark.process
@pytest.mark.skipif(gpu_count() > 0, reason="to count GPUs torch is asked")
def test_a_sweep_leaves_torch_to_its_processes(tmp_path):
    (tmp_path / "sweep.yaml").write_text(f"base: {SCENARIO}\ngrid: {{radio.bandwidth_hz: [10.0e6, 20.0e6]}}\n")
    assert imported_by(["sweep", str(tmp_path / "sweep.yaml"), "-o", str(tmp_path / "out"), "--quiet"]) == "[]"


@pytest.mark.process
def test_verbs_without_computation_import_no_libraries_for_it(tmp_path):
    """Their import takes longer than all else that these commands do."""
    (tmp_path / "wrong.yaml").write_text("round: 5\n")
    codes = {"validate": 0, "run": 2, "list": 0, "schema": 0}
    commands = [f"validate {SCENARIO}", f"run {tmp_path}/wrong.yaml", "list algorithms", "list models", "schema"]
    program = (
        "import sys\n"
        "from edgefl.cli import main\n"
        f"for command in {commands!r}:\n"
        f"    assert main(command.split()) == {codes!r}[command.split()[0]]\n"
        "    found = {'torch', 'torchvision', 'plotly', 'pandas', 'scipy'}.intersection(sys.modules)\n"
        "    assert not found, (command, found)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
