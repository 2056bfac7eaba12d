"""The law of a training step, spread, jitter, throttling and tables, against closed forms and by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.compute import Jitter
from edgefl.world.compute_law import ComputeLaw, ForwardCounts
from edgefl.world.measured_times import read_measured, step_s_of
from edgefl.world.throttling import Heat, hot_s

ONE = np.ones(1)
COUNTS = ForwardCounts(
    convolution_macs=3e9, matmul_macs=5e9, grouped_macs=7e8, activation_bytes=11e6, groups=13000.0, layers=20.0
)
PLAIN = ComputeLaw(
    convolution_flops_per_s=1e10 * ONE,
    matmul_flops_per_s=1e10 * ONE,
    grouped_flops_per_s=1e10 * ONE,
    bandwidth_bytes_per_s=np.inf * ONE,
    group_s=0 * ONE,
    group_forward_s=0 * ONE,
    layer_s=0 * ONE,
    step_s=0 * ONE,
    speed=ONE,
)


def test_the_plain_law_is_operations_over_the_speed():
    assert PLAIN.forward_s(COUNTS)[0] == pytest.approx(2 * 8.7e9 / 1e10, rel=1e-15)


@pytest.mark.parametrize(
    ("key", "value", "seconds"),
    [
        ("convolution_flops_per_s", 2e10, -2 * 3e9 / 2e10),
        ("matmul_flops_per_s", 4e10, -2 * 5e9 / 1e10 * 3 / 4),
        ("grouped_flops_per_s", 1e9, 2 * 7e8 / 1e9 * 0.9),
        ("bandwidth_bytes_per_s", 1e9, 0.011),
        ("group_s", 3e-5, 0.13),  # 13,000 groups; a third of the training's time
    ],
)
def test_each_number_of_the_law_by_hand(key, value, seconds):
    law = replace(PLAIN, **{key: value * ONE})
    assert law.forward_s(COUNTS)[0] - PLAIN.forward_s(COUNTS)[0] == pytest.approx(seconds, rel=1e-9)


def test_speed_divides_everything():
    law = replace(PLAIN, bandwidth_bytes_per_s=1e9 * ONE, group_s=3e-5 * ONE, layer_s=0.025 * ONE, step_s=0.5 * ONE)
    fast = replace(law, speed=4 * ONE)
    assert fast.forward_s(COUNTS)[0] == law.forward_s(COUNTS)[0] / 4
    assert fast.each_step_s(20)[0] == 0.25  # by hand: (0.5 + 20 * 0.025) / 4


# In a run


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """80 grey images of 12 x 12 pixels, so that each of four devices holds 20: a batch of 16, and one of 4."""
    path = tmp_path_factory.mktemp("data") / "images.npz"
    x = np.zeros((80, 1, 12, 12), dtype=np.float32)
    y = np.arange(80) % 10
    np.savez(path, train_x=x, train_y=y, test_x=x[:10], test_y=y[:10])
    return {"dataset": "npz", "path": str(path)}


def small_network():
    """Return a network with all kinds of operations."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 8, 3, bias=False), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.Flatten(),
        nn.Linear(512, 10),
    )  # fmt: skip


LAW = {
    "convolution_flops_per_s": 2e8,
    "matmul_flops_per_s": 5e8,
    "grouped_flops_per_s": 1e7,
    "bandwidth_bytes_per_s": 1e8,
    "group_s": 1e-3,
    "layer_s": 0.05,
    "step_s": 0.1,
}
STEP_S = 3 * 0.05 + 0.1
SAMPLE_S = 6 * (8 * 100 * 9 / 2e8 + 8 * 64 * 9 / 1e7 + 512 * 10 / 5e8) + 3 * 4 * (2 * 800 + 512 + 10) / 1e8 + 8 * 1e-3
SOLVER_S = 2 * (72 + 72 + 5130) / 8e9  # w - lr gradient at the usual speed


def world(images, compute, **more):
    scenario = {
        "seed": 1,
        "rounds": 3,
        "data": images,
        "model": {"kind": f"{__name__}:small_network"},
        "training": {"batch_size": 16, "local_steps": 7},
        "devices": {"count": 4, "compute": compute},
    }
    scenario["devices"].update(more.pop("devices", {}))
    return edgefl.run(scenario | more, train=False)


@pytest.mark.oracle
def test_step_lasts_as_long_as_the_law_says(images):
    found = world(images, LAW).devices
    # Seven steps: 16, 4, 16, 4, 16, 4 and 16 samples.
    np.testing.assert_allclose(found["compute_s"], 76 * SAMPLE_S + 7 * (STEP_S + SOLVER_S), rtol=1e-12)


HEADS_FIRST = {"batch_size": 16, "local_steps": 7, "parts": {"first": {"train": ["4"], "steps": 3}}}


@pytest.mark.oracle
def test_each_part_takes_its_passes_of_the_laws_time(images):
    """Three steps train the linear layer: 16, 4 and 16 samples. Four train the convolutions: 4, 16, 4 and 16."""
    first, second, linear = 8 * 100 * 9, 8 * 64 * 9, 512 * 10
    forward = first + second + linear
    head = forward + linear  # its weights' gradient
    rest = forward + linear + second + second + first  # gradients back to the first layer, and those of both weights
    found = world(images, LAW, training=HEADS_FIRST).devices
    samples_s = SAMPLE_S / 3 * (36 * head + 40 * rest) / forward
    np.testing.assert_allclose(found["compute_s"], samples_s + 7 * (STEP_S + SOLVER_S), rtol=1e-12)


@pytest.mark.oracle
def test_energy_is_power_times_the_laws_time(images):
    found = world(images, LAW, devices={"cpu_static_w": 2.0, "capacitance": 1e-27}).devices
    np.testing.assert_allclose(found["cpu_energy_j"], 3.0 * found["compute_s"], rtol=1e-12)


@pytest.mark.oracle
def test_a_lower_clock_stretches_the_laws_time(images):
    """With DVFS a device ends at its deadline, and its cycles are those that the law's time takes at the full clock."""
    server = {"policy": "deadline", "deadline_s": 30.0}
    slow = world(
        images, LAW, devices={"dvfs": {"kind": "deadline", "min_cpu_hz": 1e6}, "capacitance": 1e-27}, server=server
    ).devices
    fast = world(images, LAW, devices={"capacitance": 1e-27}).devices
    share = fast["compute_s"].iloc[0] / slow["compute_s"]
    assert (share < 0.5).all()
    np.testing.assert_allclose(slow["cpu_energy_j"], share**2 * fast["cpu_energy_j"].iloc[0], rtol=1e-9)


@pytest.mark.oracle
def test_equal_speeds_are_the_plain_law(images):
    """The counts of all kinds add up to the operations that the model is priced with."""
    plain = world(images, {}).devices
    law = world(images, {"convolution_flops_per_s": 8e9}).devices
    np.testing.assert_allclose(law["compute_s"], plain["compute_s"], rtol=1e-9)


STRAGGLERS = {"training": {"stragglers": {"share": 0.5}}}
SCAFFOLD = {"kind": "scaffold", "option": "I"}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("fedavg", {}),
        ("fedavg", {"data": {"redivide": "iid"}}),
        ("moon", STRAGGLERS),
        (SCAFFOLD, STRAGGLERS),
    ],
)
def test_all_passes_of_an_algorithm_follow_the_law(images, algorithm, more):
    """Comparisons with other models, passes over all samples, stragglers: with equal speeds this is the plain law."""
    training = {"batch_size": 16, "local_steps": 7} | more.get("training", {})
    changes = {"algorithm": algorithm, "training": training, "data": images | more.get("data", {})}
    plain = world(images, {}, **changes).devices
    law = world(images, {"convolution_flops_per_s": 8e9}, **changes).devices
    np.testing.assert_allclose(law["compute_s"], plain["compute_s"], rtol=1e-9)
    half = world(
        images, {"convolution_flops_per_s": 4e9, "matmul_flops_per_s": 4e9, "grouped_flops_per_s": 4e9}, **changes
    )
    steps_s = 7 * SOLVER_S
    if algorithm == "fedavg" and not more:
        np.testing.assert_allclose(half.devices["compute_s"], 2 * (plain["compute_s"] - steps_s) + steps_s, rtol=1e-9)
    assert (half.devices["compute_s"] > 1.5 * plain["compute_s"]).all()


@pytest.mark.oracle
@pytest.mark.parametrize(("law", "spared_s"), [(LAW, 0), (LAW | {"group_forward_s": 1e-4}, 8 * (1e-3 / 3 - 1e-4))])
def test_an_evaluation_takes_a_third_of_a_step_for_each_sample(images, law, spared_s):
    """Of 20 samples a device evaluates half: a third of their training, and of their part of a batch's fixed time."""
    found = world(images, law, server={"device_evaluation": {"samples": 0.5}}).devices
    evaluated = found[found["status"] == "evaluated"]
    assert len(evaluated) == 12
    expected_s = 10 * (SAMPLE_S / 3 - spared_s + (STEP_S + SOLVER_S) / 3 / 16)
    np.testing.assert_allclose(evaluated["compute_s"], expected_s, rtol=1e-9)


@pytest.mark.oracle
def test_each_group_has_its_own_law(images):
    groups = [{"name": "plain", "count": 1}, {"name": "by law", "count": 3, "compute": LAW}]
    found = world(images, {}, devices={"groups": groups}).devices.set_index("device")["compute_s"]
    plain = world(images, {}).devices["compute_s"].iloc[0]
    assert found.loc[0].tolist() == pytest.approx([plain] * 3, rel=1e-12)
    assert found.loc[3].tolist() == pytest.approx([76 * SAMPLE_S + 7 * (STEP_S + SOLVER_S)] * 3, rel=1e-12)


@pytest.mark.oracle
def test_forecasts_use_the_law(images):
    """A selection by forecast times takes the fast group."""
    groups = [{"name": "slow", "count": 2, "compute": LAW}, {"name": "fast", "count": 2}]
    server = {"participants": 2, "selection": {"kind": "fedcs", "deadline_s": 1.0}, "csi": "mean"}
    found = world(images, {}, devices={"groups": groups}, server=server).devices
    assert set(found[found["status"] == "received"]["device"]) == {2, 3}


@pytest.mark.oracle
def test_units_of_a_profile_differ_and_keep_their_speed(images):
    found = world(images, LAW | {"speed": {"lognormal": [0.0, 0.1]}}, devices={"count": 4}).devices
    by_unit = found.groupby("device")["compute_s"].agg(["min", "max"])
    assert (by_unit["min"] == by_unit["max"]).all()
    assert by_unit["min"].nunique() == 4


@pytest.mark.oracle
def test_without_jitter_devices_end_together_and_with_it_one_by_one(images):
    """Jitter is drawn by device and round."""
    found = world(images, LAW | {"jitter": 0.1}).devices
    assert found["compute_s"].nunique() == len(found)
    again = world(images, LAW | {"jitter": 0.1}, server={"participants": 2}).devices
    both = again.merge(found, on=["round", "device"])
    assert len(both) == 6
    assert (both["compute_s_x"] == both["compute_s_y"]).all()  # also with other participants


def test_jitter_has_its_mean_and_variation():
    """50,000 draws: the mean lies within five standard errors of 1, the deviation within 5 % of 0.3."""
    factors = Jitter(np.full(50_000, 0.3), Streams(1)).factors(np.arange(50_000), 5)
    assert factors.mean() == pytest.approx(1.0, abs=5 * 0.3 / math.sqrt(50_000))
    assert factors.std() == pytest.approx(0.3, rel=0.05)
    assert (
        stats.kstest(np.log(factors), "norm", args=(-math.log1p(0.09) / 2, math.sqrt(math.log1p(0.09)))).pvalue > 1e-4
    )


# Throttling


@pytest.mark.oracle
@given(st.floats(1e-3, 1e4), st.floats(0, 1), st.floats(0, 3), st.floats(1, 1e4))
def test_hot_time_solves_the_integral(cold_s, heat, slowdown, heat_s):
    found = hot_s(*(value * ONE for value in (cold_s, heat, slowdown, heat_s)))[0]

    def speed(t):
        return 1 / (1 + slowdown * (1 - (1 - heat) * math.exp(-t / heat_s)))

    # The integrand bends within the first few time constants.
    knee = min(found, 20 * heat_s)
    done = integrate.quad(speed, 0, knee, epsabs=0, epsrel=1e-10, limit=200)[0] + (found - knee) * speed(found)
    assert done == pytest.approx(cold_s, rel=1e-6)


def test_limits_of_throttling():
    assert hot_s(10 * ONE, 0 * ONE, 0.25 * ONE, 1e9 * ONE)[0] == pytest.approx(10, rel=1e-6)  # hardly gets warm
    assert hot_s(10 * ONE, 0 * ONE, 0.25 * ONE, 1e-9 * ONE)[0] == pytest.approx(12.5, rel=1e-6)  # hot at once
    assert hot_s(10 * ONE, 1 * ONE, 0.25 * ONE, 300 * ONE)[0] == pytest.approx(12.5, rel=1e-9)  # is hot already


def test_heat_rises_and_falls_by_its_time_constants():
    heat = Heat(0.25 * np.ones(2), 100 * np.ones(2), 50 * np.ones(2))
    heat.computed(1, 10.0, 110.0)
    both = np.arange(2)
    assert heat.levels(both, 110.0) == pytest.approx([0.0, 1 - math.exp(-1)])
    assert heat.levels(both, 160.0) == pytest.approx([0.0, (1 - math.exp(-1)) * math.exp(-1)])


@pytest.mark.oracle
def test_a_board_slows_down_over_rounds_and_recovers_in_pauses(images):
    throttling = {"slowdown": 0.25, "heat_s": 5.0, "cool_s": 1000.0}
    cold = world(images, LAW).devices["compute_s"].iloc[0]
    hot = world(images, LAW | {"throttling": throttling}, rounds=12).devices.groupby("round")["compute_s"].mean()
    assert cold < hot.iloc[0] < hot.iloc[1]
    assert hot.is_monotonic_increasing
    assert hot.iloc[-1] == pytest.approx(1.25 * cold, rel=0.01)
    rested = world(images, LAW | {"throttling": throttling | {"cool_s": 1e-6}}, rounds=3).devices
    assert rested.groupby("round")["compute_s"].mean().nunique() == 1  # the radio's pauses cool it down


# Tables of measured times

TABLE = "device,network,batch_size,step_s\nboard,small_network,16,2.0\nboard,small_network,8,1.5\nother,lenet,16,1\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.oracle
def test_measured_steps_set_the_time(images, table):
    found = world(images, {"measured": {"path": str(table), "device": "board"}}).devices
    # A batch of 4 takes a quarter of one of 16.
    np.testing.assert_allclose(found["compute_s"], 76 / 16 * 2.0, rtol=1e-12)


@pytest.mark.oracle
def test_measured_steps_take_as_long_whichever_part_trains(images, table):
    compute = {"measured": {"path": str(table), "device": "board"}}
    found = world(images, compute, training=HEADS_FIRST).devices
    np.testing.assert_allclose(found["compute_s"], 76 / 16 * 2.0, rtol=1e-12)


@pytest.mark.oracle
def test_a_group_is_looked_up_by_its_name(images, table):
    groups = [{"name": "board", "count": 4, "compute": {"measured": {"path": str(table)}}}]
    found = world(images, {}, devices={"groups": groups}).devices
    np.testing.assert_allclose(found["compute_s"], 76 / 16 * 2.0, rtol=1e-12)


def test_a_written_scenario_with_a_table_loads(table):
    section = {"count": 4, "compute": {"measured": {"path": str(table), "device": "board"}}}
    scenario = load({"devices": section})
    assert load(scenario.model_dump(mode="json")) == scenario


def test_rows_of_equal_batch_are_averaged(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text(TABLE + "board,small_network,16,4.0\n")
    assert step_s_of(path, "board", "small_network", 16) == 3.0


def test_time_of_a_batch_between_two_is_interpolated(table):
    """By hand: 1.5 s at 8 and 2 s at 16 are 1 s, and 1/16 s a sample."""
    assert step_s_of(table, "board", "small_network", 12) == pytest.approx(1 + 12 / 16)


@pytest.mark.parametrize(
    ("device", "network", "batch_size", "text"),
    [
        ("phone", "lenet", 16, 'has no device "phone"; has board, other'),
        ("board", "lenet", 16, 'has no network "lenet" of board; has small_network'),
        ("board", "small_network", 32, "has no batch_size 32 of board and small_network, nor around it: 8, 16"),
    ],
)
def test_a_missing_row_is_named(table, device, network, batch_size, text):
    with pytest.raises(InputError, match=text):
        step_s_of(table, device, network, batch_size)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("device,network,batch_size,step_s\na,b,16,0\n", ':2: step_s: must be a number above 0, got "0"'),
        ("device,network,batch_size,step_s\na,b,1.5,1\n", ":2: batch_size: must be a whole number, got 1.5"),
    ],
)
def test_faults_of_a_table(tmp_path, content, text):
    path = tmp_path / "times.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=text):
        read_measured(path)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"compute": LAW | {"measured": {"path": "phone-steps.csv"}}}, "measured: stands instead of the law"),
        ({"compute": {"throttling": {"slowdown": 0.25}}}, "heat_s"),
    ],
)
def test_faults_of_the_section(images, changes, text):
    with pytest.raises(InputError, match=text):
        world(images, {}, devices=changes)


@pytest.mark.oracle
def test_a_price_has_no_kinds_of_operations(images):
    model = {"kind": f"{__name__}:small_network", "cost": {"parameters": 10, "flops_per_parameter": 3}}
    with pytest.raises(InputError, match=r"model\.cost: has no kinds of operations"):
        world(images, LAW, model=model)


@pytest.mark.oracle
def test_price_by_kind_is_used_unchanged(images):
    """The same numbers as counted: only the solver's operations are part of a price."""
    kinds = {"convolution_macs": 7200, "grouped_macs": 4608, "matmul_macs": 5120}
    cost = {"parameters": 5274, "forward": kinds | {"activation_bytes": 8488, "groups": 8, "layers": 3}}
    counted = world(images, LAW).devices["compute_s"]
    priced = world(images, LAW, model={"kind": f"{__name__}:small_network", "cost": cost}).devices["compute_s"]
    np.testing.assert_allclose(priced, counted - 7 * SOLVER_S, rtol=1e-9)
    plain = world(images, {}, model={"kind": f"{__name__}:small_network", "cost": cost}).devices["compute_s"]
    np.testing.assert_allclose(plain, 76 * 6 * (7200 + 4608 + 5120) / 8e9, rtol=1e-12)


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        ({"parameters": 10}, "flops_per_parameter: is required: give it, or forward"),
        ({"parameters": 10, "flops_per_parameter": 3, "forward": {}}, "leave out flops_per_parameter, or forward"),
    ],
)
def test_a_price_is_of_one_kind(images, cost, text):
    with pytest.raises(InputError, match=text):
        world(images, {}, model={"kind": "logistic", "cost": cost})


def test_a_cut_model_has_no_law(images):
    with pytest.raises(InputError, match=r"devices\.compute: the kinds of operations are not known"):
        world(images, LAW, server={"policy": "split"}, model="lenet5")


@pytest.mark.oracle
def test_null_removes_the_law_of_a_preset(images):
    assert world(images, None).devices.equals(world(images, {}).devices)
