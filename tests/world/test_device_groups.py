"""Groups of devices: exact borders, given and inherited keys, and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.core.errors import InputError
from edgefl.core.per_device import ATTRIBUTES
from edgefl.core.streams import Streams
from edgefl.learning.partitions.base import keep
from edgefl.runs.data_division import divide
from edgefl.scenario import dump, load
from edgefl.world.churn.base import Presence
from edgefl.world.world import World

FAST = {"lognormal": [20.5, 0.5]}
SLOW = {"uniform": [1e6, 2e6]}


def world(**devices):
    scenario = load({"devices": devices})
    presence = Presence(np.ones(scenario.devices.count))
    return World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=presence,
        streams=Streams(7),
    )


def group(name, size, **keys):
    return {"name": name, "share" if isinstance(size, float) else "count": size, **keys}


def test_device_draws_as_without_groups():
    """Keys of a group override those of `devices`; every draw is keyed by its device."""
    grouped = world(count=50, cpu_hz=FAST, rx_power_w={"uniform": [0.1, 0.9]},
                    groups=[group("phones", 30), group("sensors", 20, cpu_hz=SLOW, tx_power_dbm=10.0)])  # fmt: skip
    fast = world(count=50, cpu_hz=FAST, rx_power_w={"uniform": [0.1, 0.9]})
    slow = world(count=50, cpu_hz=SLOW, rx_power_w={"uniform": [0.1, 0.9]})
    assert np.array_equal(grouped.cpu_hz, np.concatenate([fast.cpu_hz[:30], slow.cpu_hz[30:]]))
    assert np.array_equal(grouped.rx_power_w, fast.rx_power_w)
    assert grouped.tx_power_dbm.tolist() == [23.0] * 30 + [10.0] * 20


def test_groups_without_keys_change_nothing():
    plain = world(count=9, cpu_hz=FAST, battery={"capacity_j": 5})
    groups = [group("a", 4), group("b", 5)]
    grouped = world(count=9, cpu_hz=FAST, battery={"capacity_j": 5}, groups=groups)
    assert np.array_equal(plain.cpu_hz, grouped.cpu_hz)
    assert grouped.batteries.columns(0.0) == plain.batteries.columns(0.0)


@pytest.mark.oracle
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_shares_are_cut_at_the_nearest_device(sizes):
    """Shares that are whole numbers of devices give exactly these."""
    count = sum(sizes)
    groups = [group(str(place), size / count) for place, size in enumerate(sizes)]
    borders = load({"devices": {"count": count, "groups": groups}}).devices.borders
    assert [end - first for first, end in borders] == sizes
    assert [first for first, _ in borders] == [0, *np.cumsum(sizes)[:-1].tolist()]


def test_dumped_groups_load_again():
    """A group's keys that were not given stay inherited when the written scenario is read again."""
    groups = [group("a", 0.5, battery={"capacity_j": 3}), group("b", 0.5, cpu_hz=SLOW)]
    scenario = load({"devices": {"count": 10, "cpu_hz": FAST, "battery": {"capacity_j": 9}, "groups": groups}})
    again = load({"devices": scenario.model_dump(mode="json")["devices"]})
    assert again.devices == scenario.devices
    assert "flops_per_cycle" not in dump(scenario).partition("groups:")[2].partition("dvfs")[0]
    assert [made.battery.capacity_j.value for made in again.devices.made_of] == [3, 9]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([{"name": "a"}], r"devices.groups.0: needs either count or share"),
        ([group("a", 4), group("b", 0.5)], r"devices.groups.1: all groups must have a count, or all a share"),
        ([group("a", 4), group("b", 5)], r"devices.groups: counts must add up to devices.count = 10, not to 9"),
        ([group("a", 0.4), group("b", 0.5)], r"devices.groups: shares must add up to 1, not to 0.9"),
        ([group("a", 4), group("a", 6)], r'devices.groups.1.name: another group is called "a"'),
        ([group("a", 0.99), group("b", 0.01)], r'devices.groups: "b" gets none of 10 devices'),
        ([group("a", 10, cpu_mhz=3)], "devices.groups.0.cpu_mhz: unknown key: .* write cpu_hz: 3e6"),
    ],
)
def test_impossible_groups_are_refused(groups, message):
    with pytest.raises(InputError, match=message):
        load({"devices": {"count": 10, "groups": groups}})


def test_heights_of_all_groups_are_checked_against_the_path_loss():
    """RMa holds up to 10 m: a group of which all are higher is refused."""
    scenario = {"devices": {"count": 2, "groups": [group("a", 1), group("b", 1, height_m=12.0)]}}
    assert load(scenario).devices.span("height_m") == (1.5, 12.0)
    with pytest.raises(InputError, match=r"radio\.propagation: "):
        load({**scenario, "radio": {"propagation": "rma"}, "cells": {"bs_height_m": 35.0}})


# Data


DEALT = {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}}


def held(data=DEALT, **devices):
    return divide(load({"data": data, "devices": {"count": 10, **devices}})).parts


def test_sizes_of_shares_by_hand():
    """To the nearest sample, halves up, at least one; in their order, and a greater share keeps the smaller one's."""
    parts = [np.arange(10, 30), np.arange(5), np.arange(40, 43), np.array([7])]
    few = keep(parts, np.array([0.25, 0.5, 0.1, 0.1]), np.random.default_rng)
    more = keep(parts, np.array([0.5, 1.0, 0.5, 1.0]), np.random.default_rng)
    assert [len(part) for part in few] == [5, 3, 1, 1]
    assert [len(part) for part in more] == [10, 5, 2, 1]
    assert all(set(small) <= set(great) <= set(part) for small, great, part in zip(few, more, parts, strict=True))
    assert all((np.diff(part) > 0).all() for part in few + more)


def test_groups_keep_their_shares_of_the_partition():
    """Every sample at most once; phones as without the key, sensors a fifth of what they had, at random."""
    whole = held()
    kept = held(groups=[group("phones", 6), group("sensors", 4, data_share=0.2)])
    assert len(np.unique(np.concatenate(kept))) == sum(map(len, kept))
    assert all(np.array_equal(one, other) for one, other in zip(kept[:6], whole[:6], strict=True))
    for one, other in zip(kept[6:], whole[6:], strict=True):
        assert len(one) == max(1, int(0.2 * len(other) + 0.5))
        assert set(one) < set(other)
    assert not any(np.array_equal(one, other[: len(one)]) for one, other in zip(kept[6:], whole[6:], strict=True))


def test_shares_are_drawn_for_each_device():
    """Sizes are those of the drawn shares, whatever stands in another group."""
    whole = held()
    drawn = Streams(1).uniform("attribute", np.arange(10), list(ATTRIBUTES).index("data_share"))
    kept = held(data_share={"uniform": [0.1, 0.5]})
    assert [len(part) for part in kept] == [
        max(1, int((0.1 + 0.4 * u) * len(part) + 0.5)) for u, part in zip(drawn, whole, strict=True)
    ]


def test_a_share_of_single_samples_is_refused():
    with pytest.raises(InputError, match=r"devices.data_share: .* so few samples"):
        held(
            data={"dataset": "quadratic", "coefficients": [[0.5, 1, 0], [0.5, -1, 0]], "partition": "one_each"},
            count=2,
            data_share=0.5,
        )


POINTS = [[0.5e9, 0.4], [1.0e9, 0.9], [2.0e9, 3.0]]


def test_measured_powers_replace_the_cubic_law_between_and_at_their_clocks():
    """Each group has its own; below the first clock its power holds, which no clock below would draw less than."""
    groups = [{"name": "measured", "count": 1, "power_points": POINTS}, {"name": "law", "count": 1}]
    of = world(count=2, cpu_hz=2e9, capacitance=1e-28, groups=groups)
    for clock_hz, watts in ((0.2e9, 0.4), (0.5e9, 0.4), (0.75e9, 0.65), (1.5e9, 1.95), (2e9, 3.0)):
        found = of.powers_w(np.array([0, 1]), np.full(2, clock_hz))["cpu"]
        assert found == pytest.approx([watts, 1e-28 * clock_hz**3])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1e9, 1.0], [0.5e9, 0.5]], r"devices\.power_points: must be points \[clock in Hz, W\], by ascending clocks"),
        ([[0.5e9, 0.5], [0.9e9, 1.0]], r"devices\.power_points: must reach cpu_hz, 1e\+09 Hz: they end at 9e\+08 Hz"),
        ([], r"devices\.power_points: must be points"),
        ([[1e9, -1.0]], r"devices\.power_points"),
    ],
)
def test_power_points_that_cannot_be_are_refused(points, message):
    with pytest.raises(InputError, match=message):
        load({"devices": {"power_points": points}})
