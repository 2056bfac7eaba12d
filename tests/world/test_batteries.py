"""Levels of batteries: against a walk in small steps, and closed forms of running out."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.batteries import Batteries
from edgefl.world.battery_parameters import DAY_S, HOUR_S, BatteryParameters

CAPACITY_J = 1000.0


def supply(capacity_j=CAPACITY_J, start=1.0, base_w=0.0, idle_w=0.0, reserve=0.0, resume=0.2, charging_w=0.0,
           from_h=22, to_h=6, windows=()):  # fmt: skip
    """One battery; ``windows`` (power, hours from and to), or a single one by its keys."""
    keys = {"capacity_j": capacity_j, "start": start, "reserve": reserve, "resume": resume}
    keys |= {"base_w": base_w, "idle_w": idle_w}
    given = windows or ([(charging_w, from_h, to_h)] if charging_w else [])
    keys["charging"] = [{"power_w": power, "from_h": begin, "to_h": end} for power, begin, end in given] or None
    return BatteryParameters.drawn(load({"devices": {"count": 1, "battery": keys}}).devices, Streams(1))


def batteries(**keys):
    return Batteries(supply(**keys))


ONE = np.array([0])


class Walk:
    """One battery step by step: a change of draw, a border of the window, a crossing of a threshold."""

    def __init__(self, of):
        self.of = BatteryParameters(*(column[0] for column in of))
        begins_s = self.of.from_s + np.cumsum(self.of.cycle_s) - self.of.cycle_s
        self.windows = list(zip(self.of.charging_w, begins_s, self.of.window_s, strict=True))
        self.now = 0.0
        self.level = self.of.start_j
        self.resting = self.of.base_w + self.of.idle_w
        self.draw = self.resting
        self.usable = self.level > self.of.reserve_j
        self.changes = []

    def offered(self, time):
        return sum(power for power, begin, length in self.windows if (time - begin) % DAY_S < length)

    def borders(self):
        days = np.arange(-2, 40)[:, None] * DAY_S + np.array([begin for _, begin, _ in self.windows])
        return np.sort(np.concatenate([days, days + self.of.window_s], axis=None))

    def to(self, time):
        for border in [*(b for b in self.borders() if self.now < b < time), time]:
            while self.now < border:
                self._straight(border)

    def _straight(self, until):
        net = self.offered((self.now + until) / 2) - self.draw
        goals = []
        if net < 0:
            goals.append(0.0)
        elif net > 0:
            goals.append(self.of.capacity_j)
        goals.append(self.of.reserve_j if self.usable else self.of.resume_j)
        ends = [self.now + (goal - self.level) / net for goal in goals if net and (goal - self.level) / net > 1e-9]
        end = min([until, *ends])
        stuck = (net < 0 and self.level <= 0) or (net > 0 and self.level >= self.of.capacity_j)
        gain = 0.0 if stuck else net * (end - self.now)
        self.level = min(max(self.level + gain, 0.0), self.of.capacity_j)
        self.now = end
        if self.usable and self.level <= self.of.reserve_j + 1e-9 and net < 0:
            self.usable = False
            self.draw = self.resting
            self.changes.append((end, False))
        elif not self.usable and self.level >= self.of.resume_j - 1e-9 and net > 0:
            self.usable = True
            self.changes.append((end, True))


SEVERAL = [(0.04, 6, 8), (0.3, 13, 13.25), (0.005, 23, 2)], [(0.011, 12, 18), (0.05, 18, 20)]
SUPPLIES = st.builds(
    supply,
    windows=st.sampled_from([(), (), *SEVERAL]),
    start=st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    base_w=st.sampled_from([0.0, 0.0, 0.007]),
    idle_w=st.sampled_from([0.0, 0.003, 0.011, 0.05]),
    reserve=st.sampled_from([0.0, 0.1]),
    resume=st.sampled_from([0.2, 0.6, 1.0]),
    charging_w=st.sampled_from([0.0, 0.005, 0.04, 0.3]),
    from_h=st.sampled_from([0, 3.5, 22]),
    to_h=st.sampled_from([0, 3.5, 6, 24]),
)
DRAWS = st.lists(st.tuples(st.floats(1.0, 40_000.0), st.sampled_from([0.0, 0.002, 0.03, 0.4])), min_size=1, max_size=8)


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(SUPPLIES, DRAWS)
@example(  # in 32 hours 288 + 270 + 54 + 288 J fill up what ran out at 100 J, just when the window closes
    supply(windows=SEVERAL[0], start=0.15, idle_w=0.0, reserve=0.1, resume=1.0),
    [(4334.0, 0.0), (2867.0, 0.03), (27999.0, 0.0), (40000.0, 0.0), (40000.0, 0.0), (1.0, 0.0)],
)
def test_levels_follow_a_walk_in_small_steps(of, draws):
    """For any draws: the same levels, usable devices and changes; never negative nor too full."""
    found = Batteries(of)
    expected = Walk(of)
    now = 0.0
    for lasts_s, power_w in draws:
        if found.usable[0]:
            found.draw(ONE, power_w, now)
            expected.draw = of.base_w.item() + power_w
        now += lasts_s
        found.advance(now)
        expected.to(now)
        level = found.levels_j(ONE, now).item()
        assert 0 <= level <= CAPACITY_J
        assert level == pytest.approx(expected.level, abs=1e-6)
        assert found.usable[0] == expected.usable
    changes = found.changes()
    assert changes.came.tolist() == [came for _, came in expected.changes]
    assert changes.times_s.tolist() == pytest.approx([time for time, _ in expected.changes], abs=1e-3)


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(SUPPLIES, st.floats(0.0, 200_000.0))
def test_time_of_the_next_charged_battery_has_a_closed_form(of, now):
    """Against a walk of 60 days: charged then and not before, or never."""
    found = Batteries(of)
    found.advance(now)
    charged_s = found.next_charged_s(ONE, now)
    if found.usable[0]:
        assert charged_s == np.inf
        return
    later = Batteries(of)
    later.advance(now)
    later.changes()
    later.advance(now + 60 * DAY_S)
    came = [time for time, came in zip(*later.changes()[::2], strict=True) if came]
    if charged_s < now + 60 * DAY_S:
        assert came[0] == pytest.approx(charged_s, rel=1e-12)
        found.advance(charged_s)
        assert found.usable[0]
    else:
        assert not came


@pytest.mark.parametrize("days", [1, 2, 3, 7])
@pytest.mark.parametrize("from_h", [0, 3.5, 8.3, 12.7])
@pytest.mark.parametrize("hours", [0.1, 0.7, 3, 11.1])
def test_battery_full_at_the_end_of_its_window_is_charged(days, from_h, hours):
    """Otherwise rounding would decide whether it is usable then, or a day later."""
    power_w = (CAPACITY_J - 100) / (days * hours * HOUR_S)
    of = supply(start=0.1, reserve=0.1, resume=1.0, charging_w=power_w, from_h=from_h, to_h=from_h + hours)
    full_s = ((days - 1) * 24 + from_h + hours) * HOUR_S
    found = Batteries(of)
    assert found.next_charged_s(ONE, 0.0) == pytest.approx(full_s, rel=1e-12)
    found.advance(full_s * (1 + 1e-12))
    assert found.usable[0]


def test_running_out_and_being_charged_in_closed_form():
    """1 kJ at 0.1 W is empty after 10,000 s; plugged in at 22 h with 0.2 W net, 200 J are there after 1,000 s."""
    of = batteries(idle_w=0.1, charging_w=0.3)
    of.advance(12 * HOUR_S)  # in the night until 6 h it stays full
    assert of.changes().times_s.tolist() == pytest.approx([6 * HOUR_S + 10_000])
    assert of.levels_j(ONE, 12 * HOUR_S).item() == 0
    assert of.next_charged_s(ONE, 12 * HOUR_S) == pytest.approx(22 * HOUR_S + 1_000)


def test_a_day_may_have_several_charging_windows():
    """0.1 W empty 1 kJ in 10,000 s; at noon 1 W net fills it, from 22 h to 2 h 0.2 W net; half full it comes back."""
    of = batteries(idle_w=0.1, resume=0.5, windows=[(1.1, 12, 13), (0.3, 22, 2)])
    assert of.levels_j(ONE, 0.0).item() == 1000
    rows = [of.columns(hour * HOUR_S) for hour in (2, 4, 12, 12.1, 13, 22, 24)]
    assert [row["stored_j"] for row in rows] == pytest.approx([1000, 280, 0, 360, 1000, 0, 1000])
    assert of.changes().times_s.tolist() == pytest.approx([2 * HOUR_S + 1e4, 12 * HOUR_S + 500,
                                                           13 * HOUR_S + 1e4, 22 * HOUR_S + 2500])  # fmt: skip
    of.advance(24 * HOUR_S + 2 * HOUR_S + 1e4)
    assert of.next_charged_s(ONE, 24 * HOUR_S + 2 * HOUR_S + 1e4) == pytest.approx(36 * HOUR_S + 500)


def test_groups_may_have_different_windows():
    """A device with two windows, one, or none is charged in a group as if alone."""
    two = [{"power_w": 0.04, "from_h": 20, "to_h": 2}, {"power_w": {"uniform": [0.1, 0.3]}, "from_h": 11, "to_h": 13}]
    kinds = {"two": two, "one": {"power_w": 0.2, "from_h": 3, "to_h": 4}, "never": None, "always": {"power_w": 0.2,
             "from_h": 0, "to_h": 24}}  # fmt: skip
    keys = {"capacity_j": 1000, "start": 0.1, "idle_w": 0.02}
    groups = [{"name": name, "count": 1, "battery": {**keys, "charging": each}} for name, each in kinds.items()]
    together = Batteries(BatteryParameters.drawn(load({"devices": {"count": 4, "groups": groups}}).devices, Streams(5)))
    alone = [
        Batteries(
            BatteryParameters.drawn(load({"devices": {"count": 4, "battery": each["battery"]}}).devices, Streams(5))
        )
        for each in groups
    ]
    for hour in np.arange(0, 60, 1.3):
        together.advance(hour * HOUR_S)
        for device, of in enumerate(alone):
            of.advance(hour * HOUR_S)
            level_j, own_j = (each.levels_j(np.array([device]), hour * HOUR_S).item() for each in (together, of))
            assert level_j == pytest.approx(own_j, abs=1e-8)
            assert together.usable[device] == of.usable[device]


def test_windows_have_separate_draws_and_one_is_dumped_as_a_mapping():
    hours = (
        {"power_w": 1, "from_h": {"uniform": [0, 4]}, "to_h": 6},
        {"power_w": 1, "from_h": {"uniform": [10, 14]}, "to_h": 20},
    )
    one = load({"devices": {"count": 200, "battery": {"capacity_j": 5, "charging": hours[0]}}})
    both = load({"devices": {"count": 200, "battery": {"capacity_j": 5, "charging": list(hours)}}})
    drawn = BatteryParameters.drawn(both.devices, Streams(3))
    assert np.array_equal(drawn.from_s, BatteryParameters.drawn(one.devices, Streams(3)).from_s)
    first = drawn.from_s
    second = drawn.from_s + drawn.cycle_s[:, 0]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.3
    assert one.model_dump(mode="json")["devices"]["battery"]["charging"] == {"power_w": 1.0, **hours[0], "to_h": 6.0}
    for scenario in (one, both):
        assert load(scenario.model_dump(mode="json")).devices == scenario.devices


def test_windows_that_overlap_are_refused():
    windows = [{"power_w": 1, "from_h": {"uniform": [0, 24]}, "to_h": 6}, {"power_w": 1, "from_h": 5, "to_h": 7}]
    devices = load({"devices": {"count": 3, "battery": {"capacity_j": 5, "charging": windows}}}).devices
    with pytest.raises(InputError, match=r"devices.battery.charging: windows of device 0 overlap"):
        BatteryParameters.drawn(devices, Streams(1))


def test_charge_of_a_short_night_is_gone_before_the_next():
    """450 J until 0:30, gone by 18 h; then from nothing to 600 J at 0.25 W."""
    of = batteries(start=0.0, resume=0.6, idle_w=0.05, charging_w=0.3, from_h=18, to_h=0.5)
    assert of.next_charged_s(ONE, 0.0) == pytest.approx(18 * HOUR_S + 2_400)


def test_charged_and_drained_energy_have_a_closed_form():
    """250 J last 500 s; at 10 h 1 W net fills 1 kJ in 1,000 s, then no more goes in than idling takes."""
    of = batteries(start=0.25, idle_w=0.5, charging_w=1.5, from_h=10, to_h=12)
    rows = [of.columns(hour * HOUR_S) for hour in (400 / 3600, 5, 10 + 500 / 3600, 12, 13)]
    assert [row["drained_j"] for row in rows] == pytest.approx([200, 50, 250, 3350, 1000])
    assert [row["charged_j"] for row in rows] == pytest.approx([0, 0, 750, 500 + 3350, 0])
    assert [row["stored_j"] for row in rows] == pytest.approx([50, 0, 500, 1000, 0])


def test_energy_of_a_participation_is_not_drained():
    """2 W for 100 s are learning, from 150 s on 1 W idling; all of it is charged meanwhile, as the battery is full."""
    of = batteries(idle_w=1.0, charging_w=5.0, from_h=0, to_h=24)
    of.begin(ONE, np.array([2.0]), 50.0)
    of.release(ONE, 150.0)
    row = of.columns(200.0)
    assert (row["drained_j"], row["charged_j"], row["stored_j"]) == pytest.approx((100.0, 300.0, CAPACITY_J))


def test_base_power_continues_during_participation():
    """0.5 W always, 2 W for the 100 s of a participation, 0.25 W for the other 100 s: 50 + 200 + 50 + 25 J are gone."""
    of = batteries(base_w=0.5, idle_w=0.25)
    of.begin(ONE, np.array([2.0]), 50.0)
    of.advance(100.0)
    assert of.levels_j(ONE, 100.0).item() == pytest.approx(CAPACITY_J - 50 * 0.75 - 50 * 2.5)
    of.release(ONE, 150.0)
    row = of.columns(200.0)
    assert row["drained_j"] == pytest.approx(0.5 * 200 + 0.25 * 100)  # without the 200 J of taking part
    assert row["stored_j"] == pytest.approx(CAPACITY_J - 325)


def test_base_power_empties_a_battery_and_delays_its_return():
    """With 0.5 W besides 2 W, 1 kJ lasts 400 s; at 10 h 1.5 W charge it by 1 W, and 200 J are there after 200 s."""
    of = batteries(base_w=0.5, charging_w=1.5, from_h=10, to_h=12)
    of.begin(ONE, np.array([2.0]), 0.0)
    assert of.next_s(0) == pytest.approx(400.0)
    assert of.next_charged_s(ONE, 500.0) == pytest.approx(10 * HOUR_S + 200)
    assert of.changes().times_s.tolist() == pytest.approx([400.0])


@pytest.mark.oracle
@settings(max_examples=100, deadline=None)
@given(SUPPLIES, DRAWS)
def test_a_participant_never_has_more_left_than_a_bystander(of, draws):
    """Whatever it draws, compared with the same device that takes no part."""
    of = of._replace(idle_w=np.zeros(1))
    participant, bystander = Batteries(of), Batteries(of)
    now = 0.0
    for lasts_s, power_w in draws:
        participant.begin(ONE, np.array([power_w]), now)
        now += lasts_s
        for device in (participant, bystander):
            device.advance(now)
        assert participant.levels_j(ONE, now).item() <= bystander.levels_j(ONE, now).item() + 1e-9


@pytest.mark.oracle
@settings(max_examples=100, deadline=None)
@given(SUPPLIES, DRAWS, st.booleans())
def test_one_device_draws_as_many_do(of, draws, participates):
    """With the same bits: levels, energies and the next event."""
    one, many = Batteries(of), Batteries(of)
    now = 0.0
    for lasts_s, power_w in draws:
        if participates:
            one.begin(ONE, np.array([power_w]), now)
            many.begin(ONE, np.array([power_w]), now)
        now += lasts_s
        one.draw_one(0, power_w, now)
        many.draw(ONE, power_w, now)
        assert one.next_s(0) == many.next_s(0)
        assert one.columns(now) == many.columns(now)


def test_empty_and_full_last_until_the_power_turns():
    of = batteries(start=0.5, idle_w=0.5, charging_w=1.5, from_h=10, to_h=12)
    levels = []
    for hour in (0, 0.25, 5, 10, 10.25, 12, 12 + 1000 / 3600):
        of.advance(hour * HOUR_S)
        levels.append(of.levels_j(ONE, hour * HOUR_S).item())
    assert levels == pytest.approx([500, 50, 0, 0, 900, 1000, 500])


def test_below_the_reserve_a_device_draws_its_resting_power():
    """It leaves at 300 J, whatever it did before, and continues with its idle power to 0."""
    of = batteries(reserve=0.3, resume=0.5, idle_w=0.01)
    of.draw(ONE, 7.0, 0.0)
    of.advance(150.0)
    assert of.changes().times_s.tolist() == [100.0]
    assert of.levels_j(ONE, 150.0).item() == pytest.approx(300 - 0.5)
    of.advance(1e9)
    assert of.levels_j(ONE, 1e9).item() == 0


def test_devices_without_a_battery_never_run_out():
    sensor = {"name": "sensor", "count": 1, "battery": {"capacity_j": 10, "idle_w": 1}}
    scenario = load({"devices": {"count": 4, "groups": [{"name": "mains", "count": 3}, sensor]}})
    of = Batteries(BatteryParameters.drawn(scenario.devices, Streams(1)))
    of.draw(np.arange(4), 5.0, 0.0)
    assert of.with_charge(np.arange(4), 1e6).tolist() == [0, 1, 2]
    nothing = {"stored_j": 0.0, "charged_j": 0.0}
    assert of.columns(1e6) == {"depleted": 1, "battery": 0.0, **nothing, "drained_j": 10.0}


def test_drawn_batteries_depend_on_the_device_alone():
    keys = {"capacity_j": {"uniform": [1, 2]}, "start": {"uniform": [0.3, 1]}, "idle_w": {"uniform": [0, 1]}}
    hours = {"from_h": {"uniform": [18, 24]}, "to_h": {"uniform": [4, 8]}}
    keys["charging"] = {"power_w": {"uniform": [1, 2]}, **hours}
    keys["base_w"] = {"uniform": [0, 1]}
    few = BatteryParameters.drawn(load({"devices": {"count": 10, "battery": keys}}).devices, Streams(3))
    many = BatteryParameters.drawn(load({"devices": {"count": 1000, "battery": keys}}).devices, Streams(3))
    for one, other in zip(few, many, strict=True):
        assert np.array_equal(one, other[:10])
    assert np.unique(np.round(many.start_j / many.capacity_j, 12)).size > 990
    assert ((many.window_s >= 4 * HOUR_S) & (many.window_s <= 14 * HOUR_S)).all()


@pytest.mark.parametrize(
    ("battery", "message"),
    [
        ({}, r"devices.battery.capacity_j: is required"),
        ({"capacity_j": 5, "reserve": 0.2}, r"devices.battery.resume: must be > reserve = 0.2, got 0.2"),
        ({"capacity_j": 5, "charging": []}, r"devices.battery.charging: must not be empty"),
    ],
)
def test_impossible_batteries_are_refused(battery, message):
    with pytest.raises(InputError, match=message):
        load({"devices": {"battery": battery}})


@pytest.mark.parametrize(("spent_j", "left_j"), [(700.0, 300.0), (950.0, 50.0), (1500.0, 0.0)])
def test_energy_spent_at_once_leaves_the_battery_at_once(spent_j, left_j):
    """Of 1000 J, with a reserve of 100: below it the device runs out, and is back when it is charged to 200."""
    battery = batteries(reserve=0.1, charging_w=2.0, from_h=0, to_h=24)
    battery.begin(ONE, np.array([2.0]), 0.0)
    battery.spend(ONE, np.array([spent_j]), 10.0)
    assert battery.levels_j(ONE, 10.0).item() == left_j
    assert battery.usable[0] == (left_j > 100)
    if left_j > 100:
        return
    assert battery.ran_out_s(0) == 10.0
    assert battery.next_charged_s(ONE, 10.0) == pytest.approx(10.0 + (200 - left_j) / 2.0)
    back_s = battery.next_s(0)
    assert back_s == pytest.approx(10.0 + (200 - left_j) / 2.0)
    battery.advance(back_s)
    assert battery.usable[0]


# Capacities in milliampere-hours


def test_capacity_in_mah_is_charge_times_voltage():
    """4,000 mAh at 3.85 V are 4 A h 3600 s/h 3.85 V = 55,440 J; per device, each factor drawn."""
    of = {"count": 200, "battery": {"capacity_mah": {"uniform": [3000, 5000]}, "voltage_v": {"choice": [3.7, 3.85]}}}
    drawn_j = BatteryParameters.drawn(load({"devices": of}).devices, Streams(1)).capacity_j
    assert supply_of_keys(capacity_mah=4000, voltage_v=3.85) == pytest.approx([55_440.0])
    factors = np.stack([drawn_j / 3.6 / volts for volts in (3.7, 3.85)])
    inside = (factors >= 3000) & (factors <= 5000)
    assert inside.any(axis=0).all()
    assert drawn_j.min() < 3600 * 3.6 * 3.7
    assert drawn_j.max() > 4600 * 3.6 * 3.85


def supply_of_keys(**battery):
    devices = load({"devices": {"count": 1, "battery": battery}}).devices
    return BatteryParameters.drawn(devices, Streams(1)).capacity_j


def test_groups_may_give_either_capacity_and_mains_none():
    groups = [
        {"name": "phones", "share": 0.5, "battery": {"capacity_mah": 1000, "voltage_v": 2.0}},
        {"name": "sensors", "share": 0.25, "battery": {"capacity_j": 250}},
        {"name": "boards", "share": 0.25},
    ]
    devices = load({"devices": {"count": 4, "groups": groups}}).devices
    assert BatteryParameters.drawn(devices, Streams(1)).capacity_j.tolist() == [7200.0, 7200.0, 250.0, np.inf]


@pytest.mark.parametrize(
    ("battery", "message"),
    [
        ({"capacity_mah": 4000}, "capacity_mah: needs voltage_v, the battery's nominal voltage, such as 3.85"),
        ({"capacity_j": 1, "voltage_v": 3}, "voltage_v: goes with capacity_mah"),
    ],
)
def test_half_a_capacity_and_two_of_them_are_refused(battery, message):
    with pytest.raises(InputError, match=message):
        load({"devices": {"battery": battery}})


@pytest.mark.parametrize(
    ("given", "capacity_j"), [({"capacity_mah": 5000, "voltage_v": 4.0}, 72_000.0), ({"capacity_j": 9.0}, 9.0)]
)
def test_capacity_beside_a_preset_replaces_the_presets(given, capacity_j):
    devices = load({"devices": {"count": 1, "preset": "phone", "battery": given}}).devices
    parameters = BatteryParameters.drawn(devices, Streams(1))
    assert parameters.capacity_j.tolist() == [capacity_j]
    assert parameters.base_w.tolist() == [0.5]
