"""A ServerApp waits, sleeps, polls and times out in virtual time, while devices come and go."""

import json
from textwrap import indent

import numpy as np
import pytest

from edgefl.core.errors import InputError
from tests.cases.flower_cases import CLIENT, WORLD, emulated, write_app

# One transfer at a time takes about a second; computing takes next to nothing.
SLOW = {**WORLD, "radio": {"sharing": "processor", "bandwidth_hz": 3000}}
HEAD = """
import json, pathlib, time
notes = []
def note(*values):
    notes.append([round(time.monotonic(), 9), *values])
    pathlib.Path({file!r}).write_text(json.dumps(notes))
nodes = list(grid.get_node_ids())
"""


def noted(folder, main, world=SLOW, client=CLIENT, **options):
    """Return the notes of a ServerApp's main function, by `note(...)`, each with its virtual time; and the result."""
    file = folder / "notes.json"
    body = indent(HEAD.format(file=str(file)) + main, "    ")
    app = write_app(folder / "app", f"app_{folder.name}", body, client)
    result = emulated(app, world, **options)
    notes = json.loads(file.read_text()) if file.exists() else []
    return notes, result


def stays(folder, *rows):
    """Churn in which devices are present as rows (device, on_s, off_s) say."""
    file = folder / "stays.csv"
    lines = ["device,on_s,off_s", *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    return {"kind": "trace", "path": str(file)}


@pytest.mark.oracle
def test_answers_come_when_the_participations_end(tmp_path):
    main = """
replies = grid.send_and_receive(ask(nodes[:3]))
note(len(replies), [reply.metadata.src_node_id for reply in replies])
"""
    notes, result = noted(tmp_path, main)
    assert notes == [[pytest.approx(result.rounds["time_s"].iloc[0]), 3, [1000, 1001, 1002]]]
    ends = result.devices["start_s"] + result.devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    assert notes[0][0] == pytest.approx(ends.max())


@pytest.mark.oracle
def test_a_timeout_goes_by_virtual_time_and_late_answers_can_still_be_pulled(tmp_path):
    main = """
early = list(grid.send_and_receive(ask(nodes[:3]), timeout=0.25))
note(len(early))
ids = list(grid.push_messages(ask(nodes[3:4])))
while not (replies := list(grid.pull_messages(ids))):
    time.sleep(0.5)
note(len(replies), list(grid.pull_messages(ids)))
"""
    notes, result = noted(tmp_path, main)
    assert notes[0] == [0.25, 0]
    assert notes[1][1:] == [1, []]
    assert (notes[1][0] - 0.25) % 0.5 == pytest.approx(0)
    # The first round ends without an update when the second one begins; the late updates count in the second.
    assert result.rounds["received"].iloc[0] == 0
    assert result.rounds["time_s"].iloc[0] == 0.25


@pytest.mark.oracle
def test_an_app_that_polls_without_sleeping_is_woken_by_the_next_answer(tmp_path):
    main = """
ids = set(grid.push_messages(ask(nodes[:3])))
while ids:
    for reply in grid.pull_messages(ids):
        ids.remove(reply.metadata.reply_to_message_id)
        note(reply.metadata.src_node_id)
"""
    notes, result = noted(tmp_path, main)
    devices = result.devices
    ends = devices["start_s"] + devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    expected = sorted(zip(ends.round(9), devices["device"] + 1000, strict=True))
    assert [note[1] for note in notes] == [node for _, node in expected]
    np.testing.assert_allclose([note[0] for note in notes], [end for end, _ in expected], rtol=1e-9)


@pytest.mark.oracle
def test_a_device_answers_one_message_after_the_other(tmp_path):
    main = """
replies = grid.send_and_receive([*ask(nodes[:1]), *ask(nodes[:1], "evaluate"), *ask(nodes[:1], "query")])
note([reply.metadata.message_type for reply in replies])
"""
    notes, result = noted(tmp_path, main)
    assert notes[0][1] == ["train", "evaluate", "query"]
    devices = result.devices
    assert list(devices["status"]) == ["received", "answered", "answered"]
    ends = devices["start_s"] + devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    np.testing.assert_allclose(devices["start_s"][1:], ends[:-1])
    assert result.rounds[["selected", "received", "answered"]].to_numpy().tolist() == [[1, 1, 2]]


@pytest.mark.oracle
def test_only_devices_that_are_present_are_nodes_and_those_that_leave_answer_with_an_error(tmp_path):
    churn = stays(tmp_path, (0, 0, "inf"), (1, 0, 0.3), (2, 2, "inf"))
    main = """
note(nodes)
replies = grid.send_and_receive(ask([1000, 1001, 1002]))
note([reply.has_error() and reply.error.code for reply in replies])
time.sleep(5)
note(list(grid.get_node_ids()))
"""
    notes, result = noted(tmp_path, main, {**SLOW, "churn": churn})
    unavailable = 5
    assert notes[0][1] == [1000, 1001]
    assert notes[1][1] == [False, unavailable, unavailable]
    assert notes[2][1] == [1000, 1002]
    assert list(result.devices["status"]) == ["received", "departed"]  # the third was never asked
    assert result.devices["download_s"].iloc[1] + result.devices["upload_s"].iloc[1] <= 0.3


@pytest.mark.oracle
def test_a_strategy_goes_on_without_the_devices_that_left(tmp_path):
    churn = stays(tmp_path, (0, 0, "inf"), (1, 0, 0.3), (2, 0, "inf"))
    main = """
from flwr.serverapp.strategy import FedAvg
start = ArrayRecord({"w": Array(np.zeros(PARAMETERS, dtype=np.float32))})
found = FedAvg(fraction_evaluate=0.0).start(grid, start, num_rounds=2)
note(float(found.arrays["w"].numpy()[0]))
"""
    notes, result = noted(tmp_path, main, {**SLOW, "churn": churn})
    assert notes[0][1] == 2 / 8  # each round adds the mean of 0 / 8 and 2 / 8
    assert result.rounds[["received", "departed"]].to_numpy().tolist() == [[2, 1], [2, 0]]


@pytest.mark.oracle
def test_a_strategy_waits_for_nodes_in_virtual_time(tmp_path):
    churn = stays(tmp_path, (0, 0, "inf"), (1, 5e6 + 0.5, "inf"))
    main = """
from flwr.serverapp.strategy import FedAvg
start = ArrayRecord({"w": Array(np.zeros(PARAMETERS, dtype=np.float32))})
FedAvg(fraction_evaluate=0.0).start(grid, start, num_rounds=1)
"""
    _, result = noted(tmp_path, main, {**SLOW, "churn": churn})
    assert result.devices["start_s"].tolist() == [5e6 + 1] * 2  # it looks every second


@pytest.mark.oracle
def test_a_strategy_that_would_wait_for_ever_fails_with_a_reason(tmp_path):
    churn = stays(tmp_path, (0, 0, "inf"))
    main = """
from flwr.serverapp.strategy import FedAvg
grid.send_and_receive(ask(nodes))
FedAvg().start(grid, ArrayRecord({"w": Array(np.zeros(PARAMETERS, dtype=np.float32))}))
"""
    _, result = noted(tmp_path, main, {**SLOW, "churn": churn})
    assert result.status == "failed"
    assert "waits for more devices than the 1 that are present" in result.error
    assert len(result.rounds) == 1  # what was finished is kept


@pytest.mark.oracle
def test_a_message_expires_in_virtual_time(tmp_path):
    main = """
[reply] = grid.send_and_receive(ask(nodes[:1], ttl=0.3))
note(reply.error.code)
"""
    notes, result = noted(tmp_path, main)
    unavailable = 3
    assert notes == [[0.3, unavailable]]
    assert list(result.devices["status"]) == ["unfinished"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("main", "error"),
    [
        ("grid.send_and_receive(ask(nodes, ttl=-5))", "ValueError: the ttl of a message must be > 0 s, got -5"),
        (
            "grid.send_and_receive(ask(nodes), timeout=float('nan'))",
            "ValueError: timeout must be a number of seconds, got nan",
        ),
        ("time.sleep(-1)", "ValueError: sleep length must be non-negative"),
    ],
)
def test_invalid_times_are_refused_at_the_line_of_the_app(tmp_path, main, error):
    _, result = noted(tmp_path, f"grid.send_and_receive(ask(nodes))\n{main}\n")
    assert result.status == "failed"
    where, _, what = result.error.partition("server.py:")
    assert where
    assert what.partition(": ")[2] == error
    assert len(result.rounds) == 1


@pytest.mark.oracle
def test_messages_besides_training_leave_the_draws_of_training_as_they_are(tmp_path):
    fading = {**SLOW, "radio": {**SLOW["radio"], "fading": "rayleigh", "sharing": "fixed"}}
    trains = "for _ in range(2):\n    grid.send_and_receive(ask(nodes[:3]))\n"
    both = f"{trains}    grid.send_and_receive(ask(nodes, 'query'))\n"
    results = []
    for name, main in (("trains", trains), ("both", both)):
        folder = tmp_path / name
        folder.mkdir()
        _, result = noted(folder, main, fading)
        devices = result.devices
        results.append(devices[devices["status"] == "received"][["download_s", "upload_s"]].to_numpy())
    np.testing.assert_array_equal(*results)


@pytest.mark.oracle
def test_an_app_that_only_evaluates_has_one_round_with_its_metrics(tmp_path):
    _, result = noted(tmp_path, "for _ in range(2):\n    grid.send_and_receive(ask(nodes[1:4:2], 'evaluate'))\n")
    [row] = result.rounds[["selected", "answered", "test_accuracy", "test_loss"]].to_numpy()
    np.testing.assert_allclose(row, [0, 4, np.average([0.1, 0.3], weights=[2, 4]), 0.5])


@pytest.mark.oracle
@pytest.mark.parametrize("rounds_before", [0, 1])
def test_messages_that_are_cut_off_at_the_end_count_for_the_last_round(tmp_path, rounds_before):
    main = f"""
for _ in range({rounds_before}):
    grid.send_and_receive(ask(nodes[:1]))
grid.push_messages(ask(nodes[:1]))
time.sleep(0.2)
grid.push_messages(ask(nodes[1:4]))
time.sleep(0.8)
"""
    _, result = noted(tmp_path, main)
    assert result.rounds[["selected", "received"]].to_numpy().tolist() == [[1, 1]] * rounds_before + [[4, 1]]
    assert list(result.devices["status"])[rounds_before:] == ["received", *["unfinished"] * 3]


def test_fixed_shares_refuse_messages_that_overlap(tmp_path):
    main = "grid.push_messages(ask(nodes[:1]))\ngrid.push_messages(ask(nodes[1:2]))\n"
    _, result = noted(tmp_path, main, WORLD)
    assert result.status == "failed"
    assert result.error.startswith("radio.sharing: fixed prices messages that are sent together")
    assert result.error.endswith("set radio.sharing: processor")


def test_an_app_that_asks_without_end_fails_with_a_reason(tmp_path):
    _, result = noted(tmp_path, "while True:\n    grid.pull_messages(['no such message'])\n")
    assert result.status == "failed"
    assert "10,000 times in a row at 0 s" in result.error


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ({"stop": {"time_s": 5}}, "stop: does not go with a Flower app: the app decides when it ends"),
        ({"server": {"policy": "asynchronous"}}, "server.policy: does not go with a Flower app"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_keys_that_do_not_go_with_a_flower_app_are_refused(tmp_path, section, line):
    with pytest.raises(InputError, match=line):
        noted(tmp_path, "pass", {**WORLD, **section})
    assert not (tmp_path / "app-results").exists()


def test_operations_that_are_counted_have_no_kinds(tmp_path):
    world = {**WORLD, "devices": {**WORLD["devices"], "compute": {"step_s": 1.0}}}
    line = "devices.compute: does not go with a Flower app: the app's operations are counted, not their kinds"
    with pytest.raises(InputError, match=line):
        noted(tmp_path, "pass", world, operations="app")


@pytest.mark.oracle
def test_training_of_an_app_varies_from_message_to_message(tmp_path):
    """By jitter alone: all devices hold as much, and the app asks all of them twice."""
    main = """
for _ in range(2):
    note(len(grid.send_and_receive(ask(nodes[:3]))))
"""
    world = {**WORLD, "devices": {**WORLD["devices"], "compute": {"jitter": 0.2}}}
    _, varied = noted(tmp_path / "varied", main, world)
    _, steady = noted(tmp_path / "steady", main, WORLD)
    assert steady.devices["compute_s"].nunique() < varied.devices["compute_s"].nunique() == 6


@pytest.mark.oracle
def test_each_message_of_an_app_waits_for_its_device_to_set_up(tmp_path):
    main = """
for _ in range(2):
    note(len(grid.send_and_receive(ask(nodes[:3]))))
"""
    world = {**WORLD, "devices": {**WORLD["devices"], "setup_s": 2.0, "setup_j": 9.0}}
    notes, result = noted(tmp_path, main, world)
    assert [count for _, count in notes] == [3, 3]
    assert (result.devices["setup_s"] == 2.0).all()
    assert notes[1][0] > 4.0


def test_a_grid_in_several_threads_is_refused(tmp_path):
    main = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        pool.submit(grid.send_and_receive, ask([1000])).result()
"""
    result = emulated(write_app(tmp_path / "app", "threaded_app", main))
    assert result.status == "failed"
    assert result.error.startswith("the app uses its grid in several threads")
