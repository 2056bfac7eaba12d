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
@pytest.mark.parametrize("command", [["list", "algorithms"], ["schema"], ["validate", str(SCENARIO)]])
def test_verbs_without_computation_import_no_scipy(command):
    """Its import takes longer than all else that these commands do."""
    program = f"import sys\nfrom edgefl.cli import main\nassert main({command!r}) == 0\nprint('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
