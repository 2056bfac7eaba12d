"""Distributions in other forms: each gets the one to write, which is then read."""

import pytest
import yaml

from edgefl.core.errors import InputError
from edgefl.scenario import load

STANDARD = ", where the second number is the standard deviation"
FORMS = {
    "[2e9, 1e9]": "{uniform: [1e9, 2e9]}",
    "1e9-2e9": "{uniform: [1e9, 2e9]}",
    "1e9 to 2e9": "{uniform: [1e9, 2e9]}",
    "uniform(1e9, 2e9)": "{uniform: [1e9, 2e9]}",
    "U[1e9, 2e9]": "{uniform: [1e9, 2e9]}",
    "np.random.uniform(low=1e9, high=2e9)": "{uniform: [1e9, 2e9]}",
    "{min: 1e9, max: 2e9}": "{uniform: [1e9, 2e9]}",
    "{uniform: {low: 1e9, high: 2e9}}": "{uniform: [1e9, 2e9]}",
    "{dist: uniform, lower: 1e9, upper: 2e9}": "{uniform: [1e9, 2e9]}",
    "N(1e9, 1e6)": "{normal: [1e9, 1e6]}",
    "{gaussian: [1e9, 1e6]}": "{normal: [1e9, 1e6]}",
    "{gauss: {mu: 1e9, sigma: 1e6}}": "{normal: [1e9, 1e6]}",
    "{normal: {mean: 1e9, std: 1e6}}": "{normal: [1e9, 1e6]}",
    "{kind: normal, mean: 1e9, std: 1e6}": "{normal: [1e9, 1e6]}",
    "{distribution: lognormal, mean: 20, sigma: 0.5}": "{lognormal: [20, 0.5]}",
}


def fault(tmp_path, written):
    path = tmp_path / "scenario.yaml"
    path.write_text(f"devices:\n  cpu_hz: {written}\n")
    with pytest.raises(InputError) as error:
        load(path)
    (line,) = error.value.faults
    return line


@pytest.mark.parametrize("written", FORMS)
def test_a_distribution_in_another_form_gets_the_one_to_write(tmp_path, written):
    meant = FORMS[written]
    line = fault(tmp_path, written)
    assert line.partition(": write ")[2].removesuffix(" of the logarithm").removesuffix(STANDARD) == meant
    assert STANDARD in line or "uniform" in meant
    load({"devices": {"cpu_hz": {name: [float(x) for x in two] for name, two in yaml.safe_load(meant).items()}}})


@pytest.mark.parametrize(
    "written",
    ["exp(1e9)", "{mean: 1e9}", "{uniform: {mean: 1e9, std: 1e6}}", "{min: fast, max: slow}", "poisson(3, 4)"],
)
def test_an_unclear_form_gets_no_distribution(tmp_path, written):
    assert "write {" not in fault(tmp_path, written)
