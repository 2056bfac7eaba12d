"""Traces of real phones as FedScale and FLASH publish them: small files of their schemas, with known answers."""

import copy
import json
import os
import pickle

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.churn.recordings import Recording
from edgefl.world.churn.repeating import RepeatingPresence

# FedScale's client_behave_trace: client 10 comes before 9 in the file, which counts for nothing.
BEHAVE = {
    10: {"duration": 0, "inactive": [], "finish_time": 50, "active": [], "model": "never"},
    1: {"duration": 40, "inactive": [20, 60], "finish_time": 100, "active": [10, 30], "model": "CPH1801"},
    2: {"duration": 60, "inactive": [30, 100], "finish_time": 100, "active": [0, 70], "model": "over midnight"},
    9: {"duration": 80, "inactive": [80], "finish_time": 80, "active": [0], "model": "always"},
}
CAPACITY = {3: {"computation": 50.0, "communication": 800.5}, 1: {"computation": 200.0, "communication": 5648.1}}
CAPACITY[2] = {"computation": 100.0, "communication": 1e3}


def messages(*lines):
    """The messages of a FLASH phone: minutes after its begin, and a state."""
    return "\n".join(f"2020-01-02 {10 + minute // 60:02d}:{minute % 60:02d}:00\t{state}" for minute, state in lines)


READY = ((0, "battery_charged_on"), (5, "WIFI"), (6, "80.0%"), (10, "screen_lock"), (20, "4G"), (25, "wifi"))
FLASH = {
    "0": {"guid": "a", "model": "Redmi", "messages": messages(*READY, (45, "screen_unlock"), (60, "screen_on"))},
    "1": {"guid": "b", "model": "Mi 9", "messages": messages((0, "wifi"), (9, "screen_off"))},  # never ready: not used
    "2": {"guid": "c", "model": "Mi 8", "messages": "no date\twifi"},  # damaged: not used
    "3": {"guid": "d", "model": "P30", "messages": messages((0, "screen_off"), *READY[:2], (30, "screen_on"))},
}
# As FLASH keeps what it has computed; its clock counts from midnight before.
TIMERS = {
    "a": {
        "isSuccess": True,
        "trace_start": 36000.0,
        "trace_end": 39600.0,
        "ready_time": [[36600.0, 37200.0], [37500.0, 38700.0]],
    },
    "b": {"isSuccess": False, "trace_start": None, "trace_end": None, "ready_time": []},
}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def presence(path, count, **keys):
    churn = load({"churn": {"kind": "trace", "path": str(path), **keys}, "devices": {"count": count}}).churn
    return churn.presence(count, np.zeros(count, dtype=np.int64), 1, Streams(1))


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("begin_s", [0, 15, 95])
def test_fedscale_clients_are_present_as_in_its_code(tmp_path, form, begin_s):
    """Active where active <= time % finish_time < inactive, for ever."""
    content = pickle.dumps(BEHAVE, 4) if form == "pickle" else BEHAVE
    found = presence(written(tmp_path, "client_behave_trace", content), 4, format="fedscale", begin_s=begin_s)
    clients = [BEHAVE[number] for number in sorted(BEHAVE)]
    times = np.arange(0, 450, 2.5)
    for time in times:
        there = []
        for number, client in enumerate(clients):
            now = (time + begin_s) % client["finish_time"]
            if any(on <= now < off for on, off in zip(client["active"], client["inactive"], strict=True)):
                there.append(number)
        assert found.present(time, 0).tolist() == there
    assert found.probabilities == pytest.approx([0.4, 0.6, 1.0, 1e-4])


def test_changes_follow_the_file_except_where_a_stay_continues(tmp_path):
    """Client 2 is present from 70 s to 130 s: it does not leave at the end of its recording."""
    found = presence(written(tmp_path, "t", BEHAVE), 4, format="fedscale")
    changes = found.changes(0.0, 200.0)
    by_device = [changes.times_s[changes.ids == device].tolist() for device in range(4)]
    assert by_device == [[10, 20, 30, 60, 110, 120, 130, 160], [30, 70, 130, 170], [], []]
    assert found.stays_until_s(np.array([1]), 80.0).tolist() == [130.0]
    assert found.arrivals(61.0)[0] == 70.0
    assert found.present(5.0, 0).tolist() == [1, 2]  # an earlier time again


@pytest.mark.parametrize(
    ("name", "content", "count"), [("state_traces.json", FLASH, 1), ("cached_timers.json", TIMERS, 1)]
)
def test_flash_phones_are_ready_as_in_its_timer(tmp_path, name, content, count):
    """Locked, on Wi-Fi and charging: minutes 10 to 20 and 25 to 45 of each hour after 10:00; midnight is time 0."""
    found = presence(written(tmp_path, name, content), count, format="flash")
    for time in range(0, 3 * 3600, 60):
        minute = (time // 60) % 60
        assert found.present(float(time), 0).size == (10 <= minute < 20 or 25 <= minute < 45), minute
    assert found.probabilities == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2020-01-02 11:50:00\twi", 'line 9 has the unknown state "wi"'),
        ("2020-01-0", 'line 9 has no time such as 2020-01-02 10:00:00, got "2020-01-0"'),
        ("2020-01-02 09:50:00\twifi", 'line 9 is earlier than the line above, "2020-01-02 09:50:00\\twifi"'),
    ],
)
def test_flash_phones_with_a_damaged_line_are_left_out_with_one_warning(tmp_path, caplog, line, reason):
    whole = FLASH["0"]["messages"]
    broken = {"messages": f"{whole}\n{line}"}
    phones = {"1": broken, "2": {"messages": whole}, "3": broken, "4": FLASH["1"]}
    path = written(tmp_path, "state_traces.json", phones)
    found = presence(path, 1, format="flash")
    assert (
        found.probabilities
        == presence(written(tmp_path, "one.json", {"2": FLASH["0"]}), 1, format="flash").probabilities
    )
    (warning,) = caplog.messages
    text = f"churn.path: {path}: 2 phones are left out, as their recordings are damaged (the first: phone 1: {reason}"
    assert text in warning
    with pytest.raises(InputError, match="has 1 phones, the scenario has 2 devices"):
        presence(path, 2, format="flash")


def test_needs_of_flash_phones_can_be_chosen(tmp_path):
    """The screen is off from 0 to 30 in phone 3 alone, which charges from minute 0 and has Wi-Fi from minute 5."""
    path = written(tmp_path, "f.json", FLASH)
    found = presence(path, 1, format="flash", needs=["screen_off", "charging", "wifi"], begin_s=10 * 3600)
    assert found.changes(0.0, 1800.0).times_s.tolist() == [300.0, 1800.0]


def test_each_recording_repeats_with_its_period():
    recordings = [Recording(0, 10, ((2, 4),)), Recording(3, 7, ((0, 1), (5, 7))), Recording(0, 5, ())]
    found = RepeatingPresence(recordings, 1.0)
    for time in np.arange(0, 90, 0.25):
        expected = []
        for number, (begin_s, period_s, stays) in enumerate(recordings):
            now = (time + 1.0 - begin_s) % period_s
            if any(on <= now < off for on, off in stays):
                expected.append(number)
        assert found.present(time, 0).tolist() == expected, time


def test_published_trace_drives_a_run(tmp_path):
    path = written(tmp_path, "client_behave_trace", BEHAVE)
    scenario = {"rounds": 8, "devices": {"count": 4, "cpu_hz": 1e6}, "churn": {"kind": "trace", "format": "fedscale"}}
    scenario["churn"]["path"] = str(path)
    result = edgefl.run(scenario, train=False)
    assert result.status == "finished"
    assert set(result.devices["device"]) <= {0, 1, 2}


# Speeds


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize(
    ("scale", "expected"),
    [({"median": 1.5e9}, [0.75e9, 1.5e9, 3.0e9]), ({"cycles": 2e8}, [1e9, 2e9, 4e9])],
)
def test_speeds_of_fedscale_clients(tmp_path, form, scale, expected):
    """200, 100 and 50 ms for an inference, in the order of the clients' numbers."""
    content = pickle.dumps(CAPACITY, 2) if form == "pickle" else CAPACITY
    path = written(tmp_path, "client_device_capacity", content)
    scenario = load({"devices": {"count": 3, "cpu_hz": {"fedscale": str(path), **scale}}})
    again = load(scenario.model_dump(mode="json"))
    for one in (scenario, again):
        drawn = one.devices.cpu_hz.quantile(np.full(3, 0.5), np.arange(3))
        assert drawn == pytest.approx(expected)


def test_speeds_of_phones_by_their_score(tmp_path):
    """Scores 100, 200, 800: half, as fast as, and four times the median; each a third of the devices."""
    path = written(tmp_path, "benchmark2score.json", {"slow": 100, "fast": 800, "median": 200})
    scenario = load({"devices": {"count": 9000, "cpu_hz": {"ai_benchmark": str(path), "median": 1e9}}})
    values = scenario.devices.cpu_hz.quantile(Streams(1).uniform("attribute", np.arange(9000), 0), np.arange(9000))
    found, counts = np.unique(values, return_counts=True)
    assert found.tolist() == [0.5e9, 1e9, 4e9]
    assert counts == pytest.approx(3000, abs=4.5 * np.sqrt(9000 * 2 / 9))


# What is refused


class Attack:
    def __reduce__(self):
        return os.mkdir, ("attacked",)


CPU = {"devices": {"count": 3, "cpu_hz": {"fedscale": "FILE", "median": 1e9}}}
TRACE = {"devices": {"count": 1}, "churn": {"kind": "trace", "path": "FILE", "format": "fedscale"}}
PHONES = {"devices": {"count": 1}, "churn": {"kind": "trace", "path": "FILE", "format": "flash"}}
BACKWARDS = {"1": {"active": [5], "inactive": [4], "finish_time": 9}}
REFUSED = {
    "code": (CPU, pickle.dumps({1: Attack()}), r"names posix.mkdir, and would run its code: write the file as JSON"),
    "half a pickle": (CPU, pickle.dumps(CAPACITY)[:30], r"is not a whole pickle|pickle data was truncated"),
    "neither": (CPU, b"1;2;3", r"is neither JSON nor a pickle of protocol 2 or later"),
    "a pointer": (CPU, b"version https://git-lfs.github.com/spec/v1\n", r"is a pointer of Git LFS, not the file"),
    "another file": (CPU, BEHAVE, r"client 1: must have \"computation\""),
    "no scale": ({"devices": {"cpu_hz": {"fedscale": "FILE"}}}, CAPACITY, r"needs either median .* or cycles"),
    "backwards": (TRACE, BACKWARDS, r"client 1: is present from 5 s to 4 s: must have 0 <= beginning <= end"),
    "speeds for presence": (TRACE, CAPACITY, r"client 1: has no active, inactive, finish_time: is it another format\?"),
    "never ready": (PHONES, {"1": FLASH["1"]}, r"no phone has a recording where it is ever ready"),
    "needs of timers": (PHONES | {"churn": PHONES["churn"] | {"needs": ["wifi"]}}, TIMERS, r"leave needs out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_files_are_refused(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario, content, message = REFUSED[name]
    path = written(tmp_path, "file", content)
    with pytest.raises(InputError, match=message) as error:
        edgefl.run(json.loads(json.dumps(scenario).replace("FILE", str(path))), train=False)
    assert len(error.value.faults) == 1
    assert not (tmp_path / "attacked").exists()


ODD = (5, -1, None, True, "5", [], [5], [[]], [[5]], [[1, 2, 3]], [[None, 1]], [1, 2], {}, {"a": 1}, 1e300, 10**400)
ODD_FILES = {
    "fedscale": (TRACE, BEHAVE),
    "messages": (PHONES, FLASH),
    "timers": (PHONES, TIMERS),
    "speeds": (CPU, CAPACITY),
}


def replaced(content, odd):
    """Yield copies of nested mappings and lists, in each of which one value, of whatever depth, is replaced."""
    places = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in places:
        others = [odd]
        if isinstance(value, dict | list):
            others += replaced(value, odd)
        for other in others:
            copied = copy.copy(content)
            copied[key] = other
            yield copied


@pytest.mark.oracle
@pytest.mark.parametrize("form", ["json", "pickle"])
@pytest.mark.parametrize("name", ODD_FILES)
def test_any_wrong_value_gives_one_line(tmp_path, name, form):
    scenario, content = ODD_FILES[name]
    odd_contents = [other for odd in ODD for other in replaced(content, odd)]
    odd_contents.append({**content, "9" * 5000: content[next(iter(content))]})
    if form == "pickle":  # JSON's keys are texts; only the reader is another one
        odd_contents = [*odd_contents[::3], {10**5000: 1}]
    refusals = []
    for number, odd_content in enumerate(odd_contents):
        text = pickle.dumps(odd_content) if form == "pickle" else json.dumps(odd_content).encode()
        path = written(tmp_path, f"{number}.json", text)
        try:
            loaded = load(json.loads(json.dumps(scenario).replace("FILE", str(path))))
            count = loaded.devices.count
            loaded.churn.presence(count, np.zeros(count, dtype=np.int64), 1, Streams(1)).present(9.0, 0)
        except InputError as error:
            refusals.append(error.faults)
    assert all(len(faults) == 1 and "\n" not in faults[0] for faults in refusals)
    assert len(refusals) > len(odd_contents) / 4
