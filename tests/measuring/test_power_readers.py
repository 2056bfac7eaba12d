"""Readers of power on samples of the documented formats."""

import sys
import time
from types import SimpleNamespace

import pytest

from edgefl.core.errors import InputError
from edgefl.measuring.power import READERS, ina3221, opened, rapl, tegrastats, zeus
from edgefl.measuring.power.meter_file import powers
from edgefl.measuring.power.reader import NotThere
from edgefl.measuring.sampling import Energy, Sampler

ORIN_NANO = (
    "11-30-2026 10:00:00 RAM 3000/7620MB (lfb 10x4MB) SWAP 0/3810MB (cached 0MB) CPU [6%@1510,off] EMC_FREQ 0%@2133 "
    "GR3D_FREQ 26%@[306] cpu@46.4C tj@46.4C VDD_IN 4900mW/5000mW VDD_CPU_GPU_CV 924mW/939mW VDD_SOC 1500mW/1600mW\n"
)
AGX_ORIN = "RAM 4023/30536MB cpu@45.5C VDD_GPU_SOC 3188mW/3100mW VDD_CPU_CV 1195mW/1200mW VIN_SYS_5V0 3229mW/1mW"
NANO = "RAM 1024/3964MB PLL@31C thermal@33C POM_5V_IN 2013/2010 POM_5V_GPU 123/0 POM_5V_CPU 500/3"


@pytest.fixture
def files(tmp_path):
    """Writes files of the system."""

    def write(**contents):
        for name, content in contents.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        return tmp_path

    return write


def zone(root, name, microjoules, label="package-0"):
    folder = root / name
    folder.mkdir(exist_ok=True)
    for file, content in {"name": label, "energy_uj": microjoules, "max_energy_range_uj": 1000}.items():
        (folder / file).write_text(f"{content}\n")


def test_counters_of_processors_add_up_and_begin_again_behind_their_range(tmp_path):
    zone(tmp_path, "intel-rapl:0", 900)
    zone(tmp_path, "intel-rapl:1", 0, "package-1")
    zone(tmp_path, "intel-rapl:0:0", 5, "core")
    found = rapl.reader(tmp_path)
    assert (found.scope, found.is_energy) == ("RAPL package-0, package-1: processors only", True)
    zone(tmp_path, "intel-rapl:0", 100)
    zone(tmp_path, "intel-rapl:1", 50)
    assert found.read() == pytest.approx((200 + 50) * 1e-6)
    zone(tmp_path, "intel-rapl:2", 0, "psys")
    assert rapl.reader(tmp_path).scope == "RAPL psys"


@pytest.mark.parametrize(
    ("line", "watts"),
    [(ORIN_NANO, {"VDD_IN": 4.9}), (NANO, {"POM_5V_IN": 2.013}), ("RAM 1/2MB SWAP 0/3810MB cpu@46C", {})],
)
def test_the_input_of_a_jetson_is_the_power_now(line, watts):
    rails = tegrastats.rails_in(line)
    assert {name: rails[name] for name in tegrastats.chosen_rails(rails)} == watts


def test_without_an_input_all_rails_add_up_and_the_program_is_ended(tmp_path):
    program = tmp_path / "tegrastats"
    program.write_text(f"#!/bin/sh\nwhile true; do echo '{AGX_ORIN}'; sleep 0.05; done\n")
    program.chmod(0o755)
    found = tegrastats.reader(str(program))
    assert found.scope == "tegrastats VDD_GPU_SOC, VDD_CPU_CV, VIN_SYS_5V0"
    assert found.read() == pytest.approx(3.188 + 1.195 + 3.229)
    found.close()
    with pytest.raises(ValueError, match="closed"):
        found.read()


def test_volts_and_amperes_of_a_rail_are_its_power(files):
    root = files(
        hwmon0__name="coretemp",
        hwmon1__name="ina3221",
        hwmon1__in1_label="VDD_IN",
        hwmon1__in1_input=5000,
        hwmon1__curr1_input=900,
        hwmon1__in2_label="VDD_SOC",
        hwmon1__in2_input=5000,
        hwmon1__curr2_input=300,
    )
    assert ina3221.reader(root).scope == "INA3221 VDD_IN"
    assert ina3221.reader(root).read() == pytest.approx(4.5)
    files(hwmon1__in1_label="VDD_CPU", hwmon1__power2_input=2_000_000)
    assert ina3221.reader(root).read() == pytest.approx(4.5 + 2.0)


def test_windows_of_zeus_add_up(monkeypatch):
    class ZeusMonitor:
        gpu_indices = (0,)
        cpu_indices = (0,)

        def begin_window(self, key, *, sync_execution):
            assert not sync_execution

        def end_window(self, key, *, sync_execution):
            return SimpleNamespace(gpu_energy={0: 2.0}, cpu_energy={0: 1.0}, dram_energy=None)

    monkeypatch.setitem(sys.modules, "zeus", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "zeus.monitor", SimpleNamespace(ZeusMonitor=ZeusMonitor))
    found = zeus.reader()
    assert [found.read(), found.read()] == [3.0, 6.0]
    assert found.scope == "zeus GPU 0, CPU 0: no other parts"


def test_missing_sources_are_named_with_their_remedies(tmp_path, monkeypatch):
    zone(tmp_path, "intel-rapl:0", 900)
    read_text = type(tmp_path).read_text

    def refused(path, *arguments, **options):
        if path.name == "energy_uj":
            raise PermissionError
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(type(tmp_path), "read_text", refused)
    with pytest.raises(NotThere, match=r"energy_uj may be read by root only: sudo chmod a\+r "):
        rapl.reader(tmp_path)
    monkeypatch.setattr("edgefl.measuring.power.READERS", dict.fromkeys(READERS, lambda: rapl.reader(tmp_path / "no")))
    found, missing = opened("auto")
    assert found is None
    assert [line.partition(":")[0] for line in missing] == list(READERS)
    with pytest.raises(InputError, match=r"--power rapl: .* has no intel-rapl: .*; or write --power none"):
        opened("rapl")


@pytest.mark.parametrize(
    "text",
    [
        "time,watts\n2026-11-30T10:00:01+00:00,4\n2026-11-30T11:00:00+01:00,2\n",
        "time,volts,amperes\n1796032801,5,0.8\n1796032800,5,0.4\n",
    ],
)
def test_rows_of_a_meter_are_in_the_order_of_time(tmp_path, text):
    path = tmp_path / "meter.csv"
    path.write_text(text)
    assert powers(path) == [(1796032800.0, pytest.approx(2.0)), (1796032801.0, pytest.approx(4.0))]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("time,volts\n1,5\n", "has no column watts, and no column amperes"),
        ("time,watts\n", "has no rows"),
        ("time,watts\nnoon,5\n", "2: time: must be a timestamp with its zone, or Unix seconds"),
    ],
)
def test_faults_of_a_meter_are_told(tmp_path, text, fault):
    path = tmp_path / "meter.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        powers(path)


def test_energy_of_a_rising_power_is_that_of_the_closed_form():
    """P(t) = 3 + 2 t: the energy from a to b is 3 (b - a) + b^2 - a^2."""
    ramp = [(moment_s, 3 + 2 * moment_s) for moment_s in (0.0, 0.5, 2.0, 7.0, 10.0)]
    energy = Energy(ramp, is_energy=False)
    assert energy.joules(0.5, 6.5) == pytest.approx(3 * 6.5 + 49 - 0.25)
    counter = Energy([(0.0, 0.0), (10.0, 40.0)], is_energy=True)
    assert counter.joules(2.5, 5) == pytest.approx(20)
    assert [energy.joules(-1, 2), energy.joules(9, 2), Energy([], is_energy=False).joules(0, 1)] == [None] * 3


def test_sensors_are_read_until_they_fail():
    def fails():
        raise NotThere

    with Sampler({"constant": lambda: 4.0, "fails": fails, "silent": lambda: None}, period_s=0.01) as sampler:
        time.sleep(0.2)
    assert [series == [] for series in sampler.series.values()] == [False, True, True]
    moments_s = [moment_s for moment_s, _ in sampler.series["constant"]]
    assert moments_s == sorted(moments_s)
    energy = Energy(sampler.series["constant"], is_energy=False)
    assert energy.joules(moments_s[0], moments_s[-1] - moments_s[0]) == pytest.approx(
        4 * (moments_s[-1] - moments_s[0])
    )
