"""SciPy is imported at the first call of one of its functions, and the functions are SciPy's."""

import subprocess
import sys

import pytest
import scipy.special

from channel import _special


@pytest.mark.parametrize("name", _special.__all__)
def test_functions_match_scipy(name):
    assert getattr(_special, name) is getattr(scipy.special, name)


@pytest.mark.process
def test_the_library_imports_scipy_at_the_first_call():
    program = (
        "import sys\n"
        "from channel import *\n"
        "before = 'scipy' in sys.modules\n"
        "fading.doppler_correlation(10.0, 3.5e9, 1e-3)\n"
        "print(before, 'scipy.special' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
