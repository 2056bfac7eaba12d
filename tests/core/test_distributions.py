"""Per-device numbers: the quantiles are scipy's, and a device's value is its own."""

import numpy as np
import pytest
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.per_device import NON_NEGATIVE, POSITIVE, REAL, draw
from edgefl.core.streams import Streams
from edgefl.scenario import load

U = np.array([1e-12, 0.01, 0.25, 0.5, 0.9, 1 - 1e-12])
IDS = np.arange(len(U))


def parsed(value, key="cpu_hz"):
    return getattr(load({"devices": {key: value}}).devices, key)


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        ({"uniform": [2.0, 5.0]}, stats.uniform(2, 3)),
        ({"normal": [7.0, 2.0]}, stats.norm(7, 2)),
        ({"lognormal": [1.0, 0.5]}, stats.lognorm(0.5, scale=np.e)),
    ],
)
def test_quantiles(value, reference):
    assert parsed(value).quantile(U, IDS) == pytest.approx(reference.ppf(U), rel=1e-9)


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        ({"uniform": [2.0, 5.0]}, stats.uniform(2, 3)),
        ({"normal": [7.0, 0.5]}, stats.norm(7, 0.5)),
        ({"lognormal": [1.0, 0.5]}, stats.lognorm(0.5, scale=np.e)),
    ],
)
def test_draws_follow_the_law(value, reference):
    values = draw("cpu_hz", parsed(value), POSITIVE, np.arange(4000), Streams(3))
    assert stats.kstest(values, reference.cdf).pvalue > 0.01


def test_choice_is_even():
    values = draw("cpu_hz", parsed({"choice": [1, 2, 5]}), POSITIVE, np.arange(6000), Streams(1))
    numbers, counts = np.unique(values, return_counts=True)
    assert numbers.tolist() == [1, 2, 5]
    assert stats.chisquare(counts).pvalue > 0.01
    assert parsed({"choice": [1, 2, 5]}).quantile(U, IDS)[[0, -1]].tolist() == [1, 5]


def test_constant():
    assert draw("cpu_hz", parsed(3.5e9), POSITIVE, np.arange(5), Streams(1)).tolist() == [3.5e9] * 5


def test_a_device_draws_the_same_whatever_the_population():
    distribution = parsed({"lognormal": [20, 0.5]})
    streams = Streams(5)
    few = draw("cpu_hz", distribution, POSITIVE, np.arange(10), streams)
    many = draw("cpu_hz", distribution, POSITIVE, np.arange(1000), streams)
    alone = draw("cpu_hz", distribution, POSITIVE, np.array([7]), streams)
    assert few.tolist() == many[:10].tolist()
    assert alone[0] == few[7]
    assert len(np.unique(many)) == 1000
    assert few.tolist() != draw("cpu_hz", distribution, POSITIVE, np.arange(10), Streams(6)).tolist()
    assert few.tolist() != draw("flops_per_cycle", distribution, POSITIVE, np.arange(10), streams).tolist()


@pytest.mark.parametrize(
    ("key", "name", "value", "bound"),
    [
        ("cpu_hz", "devices.cpu_hz", {"normal": [0, 1]}, POSITIVE),
        ("cpu_hz", "devices.cpu_hz", {"lognormal": [1000, 1]}, POSITIVE),
        ("tx_power_dbm", "devices.tx_power_dbm", {"lognormal": [10, 1]}, REAL),
    ],
)
def test_impossible_draws_are_refused(key, name, value, bound):
    with pytest.raises(InputError, match=rf"{name}: device \d+ draws \S+, must be from \S+ to \S+: use another"):
        draw(key, parsed(value, key), bound, np.arange(50), Streams(1))


@pytest.mark.parametrize(
    "value",
    [
        0,
        [1],
        {"uniform": [0, 1]},
        {"normal": [1, -1]},
        {"choice": []},
        {"uniform": [1, 2], "normal": [1, 2]},
        {"file": "nothing.csv"},
        {"column": "a"},
    ],
)
def test_impossible_distributions_are_refused(value):
    with pytest.raises(InputError) as caught:
        load({"devices": {"cpu_hz": value}})
    (fault,) = caught.value.faults
    assert fault.startswith("scenario: devices.cpu_hz")


@pytest.mark.parametrize("speed", [0, {"uniform": [0, 3]}])
def test_a_bound_is_inside(speed):
    mobility = load({"mobility": {"kind": "static", "speed_mps": speed}}).mobility
    assert draw("speed_mps", mobility.speed_mps, NON_NEGATIVE, np.arange(5), Streams(1)).min() >= 0


@pytest.mark.parametrize("content", ["hz,x\n1e9,a\n2e9,b\n", "\ufeffhz\r\n1e9\r\n2e9\r\n", 'x,hz\n"a,b",1e9\n,"2e9"\n'])
def test_column(tmp_path, content):
    path = tmp_path / "d.csv"
    path.write_bytes(content.encode())
    distribution = parsed({"file": str(path), "column": "hz"})
    assert draw("cpu_hz", distribution, POSITIVE, np.array([1, 0]), Streams(1)).tolist() == [2e9, 1e9]
    with pytest.raises(InputError, match=r"devices\.cpu_hz: .* rows for 2 devices, the scenario has 3"):
        draw("cpu_hz", distribution, POSITIVE, np.arange(3), Streams(1))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hz\n", "must hold at least one number"),
        (b"hz\nnan\n", 'hz: must be a number, got "nan"'),
        (b"hz\n-1\n", "must be from"),
    ],
)
def test_wrong_column(tmp_path, content, reason):
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"^scenario: devices\.cpu_hz: ") as caught:
        parsed({"file": str(tmp_path / "d.csv"), "column": "hz"})
    assert reason in str(caught.value)
