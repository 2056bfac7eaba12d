"""Links of the backhaul that messages share: closed forms, conservation of bits, flat against hierarchical."""

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from server_cases import BASE, BITS, hierarchical, run

from edgefl.radio.backhaul import routes
from edgefl.radio.backhaul_links import BackhaulLinks, all_at_once_s
from edgefl.radio.backhaul_section import Backhaul

RATE_BPS = 1e7
STAR = {"kind": "star", "rate_bps": RATE_BPS}
UNEQUAL = [
    {"between": ["server", "core"], "rate_bps": 1e8},
    {"between": ["core", 0], "rate_bps": 1e7},
    {"between": ["core", 1], "rate_bps": 1e9, "delay_s": 0.25},
]


def arrivals_s(section, messages, *, withdrawn_s=None, sites=2):
    """When messages (began_s, bits, cell, way) arrive; the last one may be withdrawn at some time."""
    env = simpy.Environment()
    links = BackhaulLinks(env, routes(Backhaul(**section), sites))
    ends_s = [None] * len(messages)

    def carry(number, began_s, *what):
        yield env.timeout(began_s)
        message = links.send(*what)
        if withdrawn_s is not None and number == len(messages) - 1:
            yield env.timeout(withdrawn_s - began_s)
            message.withdraw()
            return
        yield message.arrival
        ends_s[number] = env.now

    for number, message in enumerate(messages):
        env.process(carry(number, *message))
    env.run()
    return ends_s


@pytest.mark.parametrize("count", [1, 10, 100])
def test_equal_messages_take_their_number_times_as_long(count):
    """Another base station's link and the other direction do not matter."""
    others = [(3.0, 1e6, 1, "down"), (3.0, 1e6, 0, "up")]
    found_s = arrivals_s({**STAR, "delay_s": 0.5}, [*others, *[(3.0, 1e6, 0, "down")] * count])
    assert found_s == [3.6, 3.6, *[pytest.approx(3.5 + 0.1 * count, abs=1e-12)] * count]


def test_one_joins_halfway_and_one_gives_up():
    first = (1.0, 1e7, 0, "up")
    assert arrivals_s(STAR, [first, (1.5, 1e7, 0, "up")]) == pytest.approx([2.5, 3.0])
    assert arrivals_s(STAR, [first, (1.5, 1e7, 0, "up")], withdrawn_s=2.0) == [pytest.approx(2.25), None]


def test_others_get_what_a_narrow_link_leaves():
    """Of 100 Mbit/s two get 10 together, as they share a narrower link, and the third has 90 until it is through."""
    narrow = (0.0, 1e7, 0, "down")
    assert arrivals_s({"links": UNEQUAL}, [narrow, narrow, (0.0, 9e7, 1, "down")]) == pytest.approx([2.0, 2.0, 1.25])
    wide = [(0.0, 1e7, 1, "down")] * 19  # equal parts of 100 Mbit/s are less than 10
    assert arrivals_s({"links": UNEQUAL}, [narrow, *wide]) == pytest.approx([2.0] + [2.25] * 19)


def test_models_of_a_cloud_share_what_a_chain_has_in_common():
    chain = routes(Backhaul(kind="chain", rate_bps=RATE_BPS, delay_s=0.1), 7)
    assert all_at_once_s(chain, 1e7) == pytest.approx(7 * (1.0 + 0.1))
    assert all_at_once_s(routes(Backhaul(**STAR, delay_s=0.1), 7), 1e7) == 1.1


TIMES_AND_BITS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=12)


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(TIMES_AND_BITS, st.randoms())
def test_no_bit_is_lost_and_no_capacity_while_there_is_work(drawn, random):
    """The link ends when any work-conserving one does; the order of equal times does not matter."""
    messages = [(time / 10, bits * 1e6, 0, "up") for time, bits in drawn]
    found_s = arrivals_s(STAR, messages)
    end_s = 0.0
    for began_s, bits, *_ in sorted(messages):
        end_s = max(end_s, began_s) + bits / RATE_BPS
    assert max(found_s) == pytest.approx(end_s)
    for (began_s, bits, *_), arrival_s in zip(messages, found_s, strict=True):
        assert arrival_s >= began_s + bits / RATE_BPS - 1e-9
    order = list(range(len(messages)))
    random.shuffle(order)
    again_s = arrivals_s(STAR, [messages[number] for number in order])
    assert again_s == pytest.approx([found_s[number] for number in order], rel=1e-12)


# Rounds


def rounds_s(count, policy="synchronous", **changes):
    keys = {"devices": {**BASE["devices"], "count": count}, "rounds": 1, **changes}
    return run({"participants": count, "policy": policy}, **keys)


@pytest.mark.parametrize("count", [1, 10, 100])
def test_a_flat_round_waits_for_the_link_and_a_hierarchical_one_does_not(count):
    """All models share the link, then all updates; the edge server sends one model and gets one."""
    alone = rounds_s(count)
    spent_s = alone.devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    message_s = BITS / RATE_BPS
    flat_s = rounds_s(count, backhaul=STAR).rounds["duration_s"][0]
    assert flat_s == pytest.approx(2 * count * message_s + (spent_s.min() if count > 1 else spent_s.max()))
    edge_s = rounds_s(count, hierarchical(cloud_every=1), backhaul=STAR).rounds["duration_s"][0]
    assert edge_s == pytest.approx(2 * message_s + spent_s.max())
    cast = {**BASE["radio"], "downlink": "broadcast"}
    spent_s = rounds_s(count, radio=cast).devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    one_model_s = rounds_s(count, radio=cast, backhaul=STAR).rounds["duration_s"][0]
    assert one_model_s == pytest.approx((1 + count) * message_s + spent_s.min())
