"""A participation changes by its own methods, as nothing in the server's room writes an attribute of another module."""

import ast
from pathlib import Path

import pytest
import simpy
from radio_cases import drop, link

import edgefl.server
from edgefl.core.times import call_at
from edgefl.radio.backhaul_links import Message
from edgefl.radio.transfers import TransferResult
from edgefl.server.participation import Meter, Participation, SetUp

FILES = sorted(Path(edgefl.server.__file__).parent.rglob("*.py"))


def participation(**options):
    """Return the participation of device 4."""
    usual = {"began_s": 1.0, "cpu_hz": 1e9, "tx_power_w": 0.2, "version": 3}
    return Participation(device=4, drop=drop(link(), [2, 4]), row=1, position_m=(100.0, 0.0), **usual | options)


@pytest.fixture
def part():
    return participation()


class Listener(Meter):
    """Hears of activities when they begin, and of transfers when they end."""

    def __init__(self, env):
        self.env = env
        self.heard = []

    def on_activity(self, device, activity):
        self.heard.append((self.env.now, device, activity))

    def on_transfer(self, part, way, transfer):
        end_s = part.last_transfer_s
        self.heard.append((way, part.serving, end_s - transfer.duration_s, end_s))


def written(tree):
    """Attributes that are assigned, by the name of what they belong to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield ast.unparse(node.value), node.attr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_attribute_is_written_from_outside_its_module(path):
    tree = ast.parse(path.read_text())
    foreign = [(owner, name) for owner, name in written(tree) if owner != "self"]
    # A record of the module's own that it keeps for itself.
    own = {("metered", "process")} if path.stem == "battery_meter" else set()
    assert set(foreign) <= own


def test_an_interrupt_enters_exactly_the_time_that_has_passed():
    env = simpy.Environment(initial_time=1.0)
    listener = Listener(env)
    part = participation(meters=[listener])

    def taking_part():
        assert (yield from part.compute(env, 2.0)) == ""
        return (yield from part.wait_for_server(env, 5.0))

    process = env.process(taking_part())
    call_at(env, 4.5, lambda: process.interrupt("late"))
    assert env.run(process) == "late"
    assert (part.compute_s, part.server_s, part.idle_s) == (2.0, 1.5, 0.0)
    assert listener.heard == [(1.0, 4, "cpu"), (3.0, 4, "idle")]


def test_transfers_add_up_and_the_last_one_says_whether_it_was_delivered():
    listener = Listener(simpy.Environment())
    part = participation(meters=[listener])
    part.add_upload(TransferResult(1.0, 0.5, 0.5, 100.0, delivered=False), 1.5)
    part.hand_over(2)
    part.add_upload(TransferResult(2.0, 1.5, 1.5, 300.0, delivered=True), 4.0)
    assert listener.heard == [("up", 0, 0.5, 1.5), ("up", 2, 2.0, 4.0)]
    assert (part.up.duration_s, part.up.air_s, part.up.sent_bits, part.up.delivered) == (3.0, 2.0, 400.0, True)
    assert not part.down.delivered


def test_handovers_and_the_end_are_recorded(part):
    assert part.serving == part.cell == 0
    part.hand_over(2)
    part.hand_over(1)
    assert (part.handovers, part.serving, part.cell) == ((2, 1), 1, 0)
    part.finish("departed", 7.0)
    assert part.gone
    part.stop_waiting(9.0)
    part.stop_waiting(8.0)
    part.stop_waiting(10.0)
    assert part.waits_until_s == 8.0


def test_an_update_on_the_backhaul_arrives_without_its_device(part):
    env = simpy.Environment()
    process = env.process(part.wait_for_backhaul(env, Message(env.timeout(4.0), 0.0, 1.0), arrives=True))
    call_at(env, 1.0, lambda: process.interrupt("departed"))
    assert env.run(process) == ""
    assert (env.now, part.idle_s) == (4.0, 4.0)


def test_a_message_that_is_cut_short_leaves_the_backhaul(part):
    env = simpy.Environment()
    message = Message(env.timeout(4.0), 0.0, 1.0)
    process = env.process(part.wait_for_backhaul(env, message))
    call_at(env, 1.0, lambda: process.interrupt("late"))
    assert env.run(process) == "late"
    assert (env.now, message.waiting) == (1.0, 0)


def test_chosen_candidate_continues_where_its_answer_ended(part):
    """It has waited for the others since then, and need not download the model again."""
    answered = participation(began_s=0.0)
    answered.add_download(TransferResult(0.2, 0.2, 0.2, 50.0, delivered=True), 1.0)
    answered.finish("polled", 0.75)
    part.resume_after_poll(answered)
    assert answered.closed
    assert (part.began_s, part.idle_s, part.down.sent_bits) == (0.0, 0.25, 50.0)


@pytest.mark.parametrize(("seconds", "cut_s", "share"), [(2.0, None, 1.0), (2.0, 0.5, 0.25), (0.0, None, 1.0)])
def test_a_device_that_has_set_up_waits_until_its_radio_or_processor_is_at_work(seconds, cut_s, share):
    env = simpy.Environment()
    listener = Listener(env)
    part = participation(began_s=0.0, setup=SetUp(seconds, 8.0), meters=[listener])
    process = env.process(part.set_up(env))
    if cut_s is not None:
        call_at(env, cut_s, lambda: process.interrupt("late"))
    assert env.run(process) == ("" if cut_s is None else "late")
    assert part.setup_spent == (seconds * share, 8.0 * share)
    assert listener.heard == [(0.0, 4, "setup"), (seconds * share, 4, "idle")]
