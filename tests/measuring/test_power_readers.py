"""Sources of power on samples of the documented formats."""

import sys
import time
from types import SimpleNamespace

import pytest

from edgefl.measuring.power import SOURCES, ina3221, meter_file, opened, rapl, tegrastats, zeus
from edgefl.measuring.power.source import NotThere, Source, chosen_rails
from edgefl.measuring.sampling import Sampler

ORIN_NANO = (
    "11-30-2026 10:00:00 RAM 3000/7620MB (lfb 10x4MB) SWAP 0/3810MB (cached 0MB) CPU [6%@1510,off] EMC_FREQ 0%@2133 "
    "GR3D_FREQ 26%@[306] cpu@46.4C tj@46.4C VDD_IN 4900mW/5000mW VDD_CPU_GPU_CV 924mW/939mW VDD_SOC 1500mW/1600mW"
)
AGX_ORIN = "RAM 4023/30536MB cpu@45.5C VDD_GPU_SOC 3188mW/3100mW VDD_CPU_CV 1195mW/1200mW VIN_SYS_5V0 3229mW/1mW"
NANO = "RAM 1024/3964MB PLL@31C thermal@33C POM_5V_IN 2013/2010 POM_5V_GPU 123/0 POM_5V_CPU 500/3"


def files(root, **contents):
    """Writes files of the system."""
    for name, content in contents.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def zone(root, number, microjoules, label="package-0"):
    folder = {"name": label, "energy_uj": microjoules, "max_energy_range_uj": 1000}
    files(root / f"intel-rapl:{number}", **folder)


def test_counters_of_processors_add_up_and_begin_again_behind_their_range(tmp_path):
    zone(tmp_path, "0", 900)
    zone(tmp_path, "1", 0, "package-1")
    zone(tmp_path, "2", 0, "psys")
    zone(tmp_path, "0:0", 5, "core")
    found = rapl.source(tmp_path)
    assert found.is_energy
    zone(tmp_path, "0", 100)
    zone(tmp_path, "1", 50)
    zone(tmp_path, "2", 700, "psys")
    assert found.read() == pytest.approx((200 + 50) * 1e-6)


def test_the_input_of_a_jetson_is_the_power_now():
    for line, watts in {ORIN_NANO: [4.9], NANO: [2.013], "RAM 1/2MB SWAP 0/3810MB cpu@46C": []}.items():
        rails = tegrastats.rails_in(line)
        assert [rails[name] for name in chosen_rails(rails)] == watts


@pytest.mark.process
def test_without_an_input_all_rails_add_up_until_the_program_ends(tmp_path):
    program = tmp_path / "tegrastats"
    program.write_text(f"#!/bin/sh\necho '{AGX_ORIN}'\necho '{AGX_ORIN}'\n")
    program.chmod(0o755)
    found = tegrastats.source(str(program))
    assert found.scope == "tegrastats VDD_GPU_SOC, VDD_CPU_CV, VIN_SYS_5V0"
    assert found.read() == pytest.approx(3.188 + 1.195 + 3.229)
    with pytest.raises(NotThere, match="has ended"):
        found.read()
    found.close()


def test_volts_and_amperes_of_a_rail_are_its_power(tmp_path):
    files(tmp_path, hwmon0__name="coretemp", hwmon0__in1_label="VDD_IN", hwmon1__name="ina3221")
    files(tmp_path / "hwmon1", in1_label="VDD_IN", in1_input=5000, curr1_input=900, in7_label="sum of shunt voltages")
    files(tmp_path / "hwmon1", in2_label="VDD_SOC", in2_input=5000, curr2_input=300)
    found = ina3221.source(tmp_path)
    assert (found.scope, found.read()) == ("INA3221 VDD_IN", pytest.approx(4.5))
    files(tmp_path / "hwmon1", in1_label="VDD_CPU")
    assert ina3221.source(tmp_path).read() == pytest.approx(4.5 + 1.5)


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
    found = zeus.source()
    assert [found.read(), found.read()] == [3.0, 6.0]
    assert found.scope == "zeus: 1 GPUs, 1 processors"


def test_missing_sources_are_named_with_their_remedies(tmp_path, monkeypatch):
    zone(tmp_path, "0", 900)
    read_text = type(tmp_path).read_text

    def refused(path, *arguments, **options):
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(type(tmp_path), "read_text", refused)
    with pytest.raises(NotThere, match=r"energy_uj cannot be read \(Permission denied\); root can .* sudo chmod a\+r "):
        rapl.source(tmp_path)
    monkeypatch.setattr("edgefl.measuring.power.SOURCES", dict.fromkeys(SOURCES, lambda: rapl.source(tmp_path / "no")))
    found, missing = opened("auto", tmp_path)
    assert found.scope == "none"
    assert [line.partition(":")[0] for line in missing] == list(SOURCES)


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
    found = meter_file.source(path).rows()
    assert found == [(1796032800.0, pytest.approx(2.0)), (1796032801.0, pytest.approx(4.0))]


def sampled(series, **options):
    """A sampler of a series that a program has noted, in the time of `perf_counter`."""
    unix_s = time.time() - time.perf_counter()
    rows = [(unix_s + moment_s, value) for moment_s, value in series]
    with Sampler(Source("meter", rows=lambda: rows, **options), period_s=0) as sampler:
        return sampler


def test_energy_of_a_rising_power_is_that_of_the_closed_form():
    """P(t) = 3 + 2 t: the energy from a to b is 3 (b - a) + b^2 - a^2."""
    ramp = sampled([(moment_s, 3 + 2 * moment_s) for moment_s in (0.0, 0.5, 2.0, 7.0, 10.0)])
    assert ramp.joules(0.5, 6.5) == pytest.approx(3 * 6.5 + 49 - 0.25, rel=1e-3)
    assert sampled([(0.0, 0.0), (10.0, 40.0)], is_energy=True).joules(2.5, 5) == pytest.approx(20)
    assert [ramp.joules(-1, 2), ramp.joules(9, 2), sampled([]).joules(0, 1)] == [None] * 3


def test_a_source_is_read_until_it_fails_and_closed():
    readings = [4.0] * 5
    closed = []

    def read():
        if not readings:
            raise NotThere
        return readings.pop()

    with Sampler(Source("meter", read, close=lambda: closed.append(1)), period_s=0.01) as sampler:
        while readings:
            time.sleep(0.01)
    assert closed == [1]
    (first_s, _), *_, (last_s, _) = sampler._series
    assert sampler.joules(first_s, last_s - first_s) == pytest.approx(4 * (last_s - first_s))
    assert sampler.joules(first_s, last_s) is None
