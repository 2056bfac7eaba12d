"""Sessions: numbers of rounds, first models on quadratics by hand, present devices, costs, refusals."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from radio_cases import STILL
from session_cases import CURVES, RATE, distilled, images, scalar

from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import Batch, ForwardPass, Updates
from edgefl.learning.algorithms.distilled import Distilled
from edgefl.learning.algorithms.fedacg import FedACG
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.steps import initial_state
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.initialisation import INITIALISATIONS
from edgefl.learning.initialisation.average import Average
from edgefl.learning.initialisation.proposed import DISTANCES, Proposed
from edgefl.learning.schedules import PolynomialRate
from edgefl.runs.data_division import divide
from edgefl.scenario import RoundKey, Sessions, dump, load
from edgefl.server.session_models import SessionModels

WHOLE = [slice(None)]


def slope(curve, x):
    return 2 * curve[0] * x + curve[1]


def descended(curve, x, rounds, rate=RATE):
    for _ in range(rounds):
        x -= rate * slope(curve, x)
    return x


def parameter(result, session, number):
    rows = result.rounds
    (value,) = rows["parameter"][(rows["session"] == session) & (rows["round"] == number)]
    return value


# Where rounds are


@pytest.mark.oracle
@given(count=st.integers(1, 5), rounds=st.integers(1, 4), pilots=st.integers(1, 4), extra=st.integers(1, 3))
def test_places_are_in_order_and_complete(count, rounds, pilots, extra):
    strategy = Proposed(pilots=pilots, gradient_rounds=extra) if pilots < count else Average(pilots=pilots)
    sessions = Sessions(count=count, rounds=rounds, initialisation=strategy)
    first = {s: 1 - extra if s > pilots else 1 for s in range(1, count + 1)}
    places = [RoundKey(s, number) for s in first for number in range(first[s], rounds + 1)]
    taken = [sessions.first(1)]
    while len(taken) < sessions.total:
        taken.append(sessions.after(taken[-1]))
    assert taken == places
    assert [place for place in places if sessions.begins(place)] == [RoundKey(*each) for each in first.items()]


@pytest.mark.oracle
def test_a_single_session_is_an_ordinary_run():
    one = images({"rounds": 3}, algorithm="scaffold")
    other = images({"sessions": {"count": 1, "rounds": 3, "groups": 1}}, algorithm="scaffold")
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)
    assert one.events.equals(other.events)
    assert np.array_equal(one.parameters, other.parameters)


# Weights


def moves(*rows):
    """Return the moves of gradient rounds, of the sessions from the second one on."""
    return {session: np.array(row, dtype=np.float64) for session, row in enumerate(rows, 2)}


VECTORS = st.lists(st.lists(st.floats(-5, 5), min_size=6, max_size=6), min_size=2, max_size=6)
TENSORS = [slice(4), slice(4, 6)]


@pytest.mark.oracle
@given(rows=VECTORS, distance=st.sampled_from(sorted(DISTANCES)), r=st.floats(0, 50))
def test_weights_of_proposed_by_hand(rows, distance, r):
    """They add up to 1 and go with their sessions; equal for R = 0, on the nearest alone for infinite R."""
    last = len(rows) + 1
    weights = Proposed(similarity=r, distance=distance).start(last, moves(*rows), TENSORS)
    assert list(weights) == (list(range(2, last)))
    assert sum(weights.values()) == pytest.approx(1)
    turned = Proposed(similarity=r, distance=distance).start(last, moves(*rows[-2::-1], rows[-1]), TENSORS)
    assert list(turned.values()) == pytest.approx(list(weights.values())[::-1])
    even = Proposed(similarity=0, distance=distance).start(last, moves(*rows), TENSORS)
    assert list(even.values()) == pytest.approx([1 / (last - 2)] * (last - 2))
    apart = [DISTANCES[distance](np.array(row), np.array(rows[-1]), TENSORS) for row in rows[:-1]]
    nearest, *others = np.sort(apart)
    if not others or others[0] - nearest > 1e-3:
        for without_end in (1e6, np.inf):
            sharp = Proposed(similarity=without_end, distance=distance).start(last, moves(*rows), TENSORS)
            assert max(sharp, key=sharp.__getitem__) == int(np.argmin(apart)) + 2
            assert max(sharp.values()) == pytest.approx(1)
        assert sorted(sharp.values()) == [0.0] * (last - 3) + [1.0]


def test_infinite_similarity_is_dumped_as_given(tmp_path):
    text = "sessions: {count: 4, rounds: 2, initialisation: {kind: proposed, similarity: .inf}}"
    (tmp_path / "one.yaml").write_text(text)
    scenario = load(tmp_path / "one.yaml")
    assert scenario.sessions.initialisation.similarity == np.inf
    (tmp_path / "other.yaml").write_text(dump(scenario))
    assert load(tmp_path / "other.yaml") == scenario
    for wrong in (".nan", "-.inf"):
        (tmp_path / "one.yaml").write_text(text.replace(".inf", wrong))
        with pytest.raises(InputError, match=r"sessions.initialisation.similarity: must be"):
            load(tmp_path / "one.yaml")


def test_published_weights_of_proposed():
    """For distances .4, .1 and .3 with R = 10 (algorithm cards, section 11)."""
    weights = Proposed(similarity=10, distance="global_l2").start(5, moves([0.4], [-0.1], [0.3], [0.0]), WHOLE)
    assert list(weights.values()) == pytest.approx([0.042010066134, 0.843794734481, 0.114195199385], abs=1e-12)


def test_distances_by_hand():
    a = np.array([3.0, 4, 0, 2])
    b = np.array([0.0, 2, 0, -5])
    tensors = [slice(2), slice(2, 4)]
    wanted = (np.hypot(0.6, 0.8 - 1) + 2) / 2
    assert DISTANCES["per_tensor_normalised"](a, b, tensors) == pytest.approx(wanted)
    assert DISTANCES["per_tensor_normalised"](7 * a, 0.1 * b, tensors) == pytest.approx(wanted)
    assert DISTANCES["global_l2"](a, b, tensors) == pytest.approx(np.sqrt(9 + 4 + 49))
    assert DISTANCES["per_tensor_normalised"](0 * a, a, tensors) == pytest.approx(1)


@given(beta=st.floats(0, 1), pilots=st.integers(1, 6))
def test_pilot_models_by_hand(beta, pilots):
    ema = Proposed(pilot="ema", beta=beta, pilots=pilots).pilot_blend()
    assert sum(ema.values()) == pytest.approx(1)
    if pilots == 3:  # the paper's example below eq. 29
        assert list(ema.values()) == pytest.approx([beta**2, beta * (1 - beta), 1 - beta])
    for limit, session in ((1.0, 1), (0.0, pilots)):
        ends = Proposed(pilot="ema", beta=limit, pilots=pilots).pilot_blend()
        assert {s: weight for s, weight in ends.items() if weight} == {session: 1.0}
    assert Proposed(pilots=pilots).pilot_blend() == dict.fromkeys(range(1, pilots + 1), 1 / pilots)


def test_limited_history_keeps_the_last_sessions():
    """The last two sessions alone count and are kept, besides the pilots'."""
    strategy = Proposed(pilots=2, history=2)
    seven = {session: np.ones(1) for session in range(3, 8)}
    assert strategy.start(7, seven, WHOLE) == {5: 0.5, 6: 0.5}
    assert list(strategy.sessions_kept(7, seven, WHOLE)) == [1, 2, 5, 6]
    assert [strategy.stored_vectors(session) for session in range(1, 8)] == [0, 1, 1, 3, 5, 5, 5]


def retained(strategy, *moves):
    """The sessions after the pilot that are kept, session by session, as the server does: the others are forgotten."""
    known = {}
    kept = []
    for session, move in enumerate(moves, 2):
        known[session] = np.array([move])
        kept.append(list(strategy.sessions_kept(session, known, WHOLE)))
        known = {z: known[z] for z in (*kept[-1], session) if z in known}
    return [sessions[1:] for sessions in kept]


def test_diverse_retention_drops_the_older_of_the_nearest():
    """The older of the two that are most alike goes: a session unlike the others stays, which recency forgets."""
    moves = 0.0, 5.0, 0.2, 0.1, 0.3, 5.2, 0.2
    two = {"history": 2, "distance": "global_l2"}
    diverse = retained(Proposed(**two, retention="diverse"), *moves)
    assert diverse == [[], [2], [2, 3], [3, 4], [3, 5], [3, 6], [6, 7]]
    assert retained(Proposed(**two), *moves) == [[], [2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]


@pytest.mark.oracle
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.integers(1, 4))
def test_diverse_retention_keeps_apart(moves, history):
    """H are kept, always the last one, and the nearest two are at least as far apart as those of all candidates."""
    strategy = Proposed(history=history, retention="diverse", distance="global_l2")
    before = []
    for session, kept in enumerate(retained(strategy, *moves), 2):
        candidates = before + [session - 1] * (session > 2)
        assert len(kept) == min(history, session - 2)
        assert set(kept) <= set(candidates)
        assert session == 2 or kept[-1] == session - 1
        assert least(kept, moves) >= least(candidates, moves)
        assert strategy.stored_vectors(session) == 1 + 2 * len(kept)
        before = kept


def least(sessions, moves):
    return min((abs(moves[a - 2] - moves[b - 2]) for a, b in combinations(sessions, 2)), default=np.inf)


@pytest.mark.parametrize("kind", INITIALISATIONS.members)
def test_session_after_the_pilots_starts_as_the_key_says(kind):
    """Session P + 1 continues or starts again, whatever the strategy; `initial` always starts again."""
    member = INITIALISATIONS.load(kind)
    assert member(pilots=2, after_pilots="initial").start(3, {}, WHOLE) == {0: 1.0}
    assert member(pilots=2).start(3, {}, WHOLE) == {0 if kind == "initial" else 2: 1.0}


def test_statistics_blend_with_the_model():
    """Batch normalisation's, and the pilot's; the server's state restarts."""

    def vector(*values):
        return torch.tensor(values, dtype=torch.float64)

    sessions = Sessions(count=3, rounds=1, initialisation=Average())
    starts = SessionModels(sessions, vector(0), vector(0, 0), lambda _, w: {"w": w, "m": 0 * w}, WHOLE)
    start = {"w": vector(0), "m": vector(0)}
    assert starts.enter(RoundKey(1, 1), start, vector(0, 0))[0] is start
    starts.enter(RoundKey(2, 1), {"w": vector(2), "m": vector(9)}, vector(1, 5))
    state, statistics = starts.enter(RoundKey(3, 1), {"w": vector(5), "m": vector(9)}, vector(2, 7))
    assert state == {"w": vector(3.5), "m": vector(0)}
    assert statistics.tolist() == [1.5, 6]


# Quadratic functions by hand


def expected(strategy, curves, rounds, count):
    """Return the parameter at the end of each session, of devices that take turns, one at a time."""
    ends = [1.0]
    gradients = {}
    for session in range(1, count + 1):
        curve = curves[(session - 1) % len(curves)]
        start = ends[-1]
        if session > 1:
            gradients[session] = -RATE / 2 * slope(curve, ends[1])
        if session > 2:
            start = strategy(session, ends, gradients)
        ends.append(descended(curve, start, rounds))
    return ends[1:]


def near(session, ends, gradients):
    """exp(-R |G_s - G_z|) of all sessions after the first."""
    scores = {z: np.exp(-3.0 * abs(gradients[session] - gradients[z])) for z in range(2, session)}
    return sum(score * ends[z] for z, score in scores.items()) / sum(scores.values())


STARTS = {
    "previous": ({}, lambda _, ends, __: ends[-1]),
    "initial": ({}, lambda *_: 1.0),
    "average": ({"include_pilots": False}, lambda _, ends, __: np.mean(ends[2:])),
    "proposed": ({"similarity": 3.0, "distance": "global_l2"}, near),
}


@pytest.mark.oracle
@pytest.mark.parametrize("kind", [*STARTS, "average with pilots"])
def test_quadratics_by_hand(kind):
    """Three devices that take turns in six sessions; a gradient round's move is -(eta / 2) grad l(pilot)."""
    keys, start = STARTS.get(kind, ({}, lambda _, ends, __: np.mean(ends[1:])))
    strategy = {"kind": kind.split()[0], **keys}
    result = scalar({"count": 6, "rounds": 3, "groups": 3, "initialisation": strategy})
    wanted = expected(start, CURVES, 3, 6)
    if kind == "initial":
        wanted[1] = descended(CURVES[1], 1.0, 3)
    assert [parameter(result, s, 3) for s in range(1, 7)] == pytest.approx(wanted, rel=1e-9)
    assert result.devices.groupby("session")["device"].unique().explode().tolist() == [0, 1, 2, 0, 1, 2]


def ends(strategy, count=5, **changes):
    """Return the parameters at the ends of sessions of three groups in turn."""
    result = scalar({"count": count, "rounds": 3, "groups": 3, "initialisation": strategy}, **changes)
    return [parameter(result, session, 3) for session in range(1, count + 1)]


@pytest.mark.oracle
@pytest.mark.parametrize("after_pilots", ["previous", "initial"])
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold"])
def test_with_one_stored_model_all_strategies_are_one(algorithm, after_pilots):
    """Proposed, Average and Previous are the same up to session P + 2, and apart then (cards, oracle 10.6)."""
    keys = {"pilots": 2, "after_pilots": after_pilots}
    strategies = {"previous": {}, "average": {"include_pilots": False}, "proposed": {"similarity": 3.0}}
    runs = [ends({"kind": kind, **keys, **more}, algorithm=algorithm) for kind, more in strategies.items()]
    assert runs[0][:4] == runs[1][:4] == runs[2][:4]
    assert len({run[4] for run in runs}) == 3


@pytest.mark.oracle
def test_limits_of_proposed_as_runs():
    """Keeping one model it is Previous, without a preference Average (cards, oracle 10.6)."""
    assert ends({"kind": "proposed", "history": 1}) == ends("previous")
    even = ends({"kind": "proposed", "similarity": 0})
    average = ends({"kind": "average", "include_pilots": False})
    assert even == pytest.approx(average, rel=1e-12)


def test_first_group_can_be_another():
    result = scalar({"count": 4, "rounds": 1, "groups": 3, "first_group": 2})
    assert result.devices["device"].tolist() == [1, 2, 0, 1]


@pytest.mark.oracle
def test_gradient_rounds_move_with_half_the_rate():
    """V = 3 steps of half the rate from the pilot model, whose rounds end with number 0."""
    strategy = {"kind": "proposed", "gradient_rounds": 3, "similarity": 2.0, "distance": "global_l2"}
    result = scalar({"count": 4, "rounds": 2, "groups": 2, "initialisation": strategy}, CURVES[:2])
    ends = [1.0]
    gradient = {}
    for session in range(1, 5):
        curve = CURVES[(session - 1) % 2]
        start = ends[-1]
        gradient[session] = descended(curve, ends[min(session, 2) - 1], 3, RATE / 2) - ends[min(session, 2) - 1]
        if session == 4:
            a, b = (np.exp(-2.0 * abs(gradient[4] - gradient[z])) for z in (2, 3))
            start = (a * ends[2] + b * ends[3]) / (a + b)
        ends.append(descended(curve, start, 2))
    assert [parameter(result, s, 2) for s in range(1, 5)] == pytest.approx(ends[1:], rel=1e-9)
    assert result.rounds["round"].tolist() == [1, 2] + 3 * [-2, -1, 0, 1, 2]
    assert result.rounds["parameter"].isna().tolist() == (result.rounds["round"] < 1).tolist()


def test_schedule_restarts_in_each_session():
    """eta(t) = (eta_0 - eta_min)(1 - t/T)^0.9 + eta_min, t from 0 (algorithm cards, section 6.4)."""
    schedule = {"kind": "polynomial", "power": 0.9, "ratio": 0.6}
    training = {"local_steps": 1, "batch_size": "full", "lr": RATE, "lr_schedule": schedule, "engine": "serial"}
    result = scalar({"count": 2, "rounds": 4}, CURVES[:1], training=training)
    x = 1.0
    for session in (1, 2):
        for t in range(4):
            x -= RATE * ((1 - 0.6) * (1 - t / 4) ** 0.9 + 0.6) * slope(CURVES[0], x)
            assert parameter(result, session, t + 1) == pytest.approx(x, rel=1e-9)
    assert PolynomialRate(power=0.0, ratio=0.3).factor(3, 4) == 1
    assert PolynomialRate(ratio=1.0).factor(3, 4) == 1


@pytest.mark.oracle
@pytest.mark.parametrize("keep", [True, False])
def test_server_momentum_restarts_unless_kept(keep):
    """Kept, four sessions of two rounds are eight rounds; otherwise it restarts with each."""
    algorithm = {"kind": "fedacg", "server_momentum": 0.8}
    sessions = {"count": 4, "rounds": 2, "keep_state": keep}
    result = scalar(sessions, algorithm=algorithm, rounds=None)
    whole = scalar(None, algorithm=algorithm, rounds=8)
    same = result.rounds["parameter"].to_numpy() == whole.rounds["parameter"].to_numpy()
    assert same.tolist() == [True] * 2 + [keep] * 6


def test_stopped_run_ends_with_the_model_of_its_last_session():
    strategy = {"kind": "proposed"}
    result = scalar({"count": 3, "rounds": 2, "groups": 2, "initialisation": strategy}, stop={"time_s": 1e-12})
    assert len(result.rounds) == 1
    full = scalar({"count": 3, "rounds": 1, "groups": 2, "initialisation": strategy}, stop={"time_s": 1e-12})
    assert full.parameters[0] == np.float32(parameter(full, 1, 1)) == result.parameters[0]


# Who is there, what is tested, what it costs


@pytest.mark.oracle
def test_model_is_tested_on_the_labels_of_its_group():
    """The labels of present devices: 0 to 4, then 4 to 8 (docs of label_overlap)."""
    result = images({"sessions": {"count": 2, "rounds": 2}}, devices={"count": 8})
    for session, ids in ((1, range(4)), (2, range(4, 8))):
        assert set(result.devices["device"][result.devices["session"] == session]) == set(ids)
    digits = Digits().load()
    x = (digits.test_x.reshape(len(digits.test_y), -1).astype(np.float32) - digits.mean) / digits.std
    scores = x @ result.parameters[:-10].reshape(10, -1).T + result.parameters[-10:]
    tested = (digits.test_y >= 4) & (digits.test_y <= 8)
    right = (scores.argmax(axis=1) == digits.test_y)[tested].mean()
    assert result.rounds["test_accuracy"].iloc[-1] == pytest.approx(right, abs=1e-9)
    logits = torch.from_numpy(scores[tested])
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(digits.test_y[tested]))
    assert result.rounds["test_loss"].iloc[-1] == pytest.approx(float(loss), rel=1e-4)


EVERYBODY = range(10)
EVERYTHING = range(10)
APART = {  # who is there in the second and last session, and the labels that these have (dynamic-devices paper, App. E)
    "two_shard": (EVERYBODY, EVERYTHING),
    "distinct": (EVERYBODY, EVERYTHING),
    "half": (range(5, 10), range(5, 10)),
    "partial_overlap": (range(5, 10), range(4, 10)),
}


@pytest.mark.oracle
@pytest.mark.parametrize("kind", APART)
def test_sessions_under_the_paper_s_other_partitions(kind):
    """Two sessions: by turns if the partition has two groups; tested on the classes that present devices have."""
    there, labels = APART[kind]
    data = {"dataset": "digits", "partition": kind}
    result = images({"sessions": {"count": 2, "rounds": 2}}, data=data, devices={"count": 10})
    first, last = (set(result.devices["device"][result.devices["session"] == session]) for session in (1, 2))
    assert last == set(there)
    assert first == (set(EVERYBODY) if there == EVERYBODY else set(EVERYBODY) - last)
    digits = Digits().load()
    parts = divide(load(result.scenario)).parts
    assert set(digits.train_y[np.concatenate([parts[device] for device in there])]) == set(labels)
    weights = result.parameters[:640].reshape(10, 64)
    bias = result.parameters[640:]
    scores = (digits.test_x.reshape(-1, 64) - digits.mean) / digits.std @ weights.T + bias
    tested = np.isin(digits.test_y, labels)
    right = (scores.argmax(axis=1) == digits.test_y)[tested].mean()
    assert result.summary["final_accuracy"] == pytest.approx(right, abs=1e-9)
    assert right > 0.3


def test_participants_are_of_the_group_and_gradients_of_all_of_it():
    sessions = {"count": 3, "rounds": 3, "initialisation": {"kind": "proposed", "gradient_rounds": 2}}
    server = {"selection": {"kind": "schedule", "rounds": [[0, 4]]}}
    result = images({"sessions": sessions}, train=False, server=server)
    rounds = result.rounds
    assert rounds["selected"].tolist() == np.where(rounds["round"] < 1, 4, 1).tolist()
    group = (result.devices["session"] - 1) % 2
    assert (result.devices["device"] // 4 == group).all()


def test_costs_of_proposed():
    """(T + V) rounds a session after the pilots, 2 d stored for each, and d for the pilot (cards, section 8.5)."""
    sessions = {"count": 4, "rounds": 3, "initialisation": {"kind": "proposed", "gradient_rounds": 2}}
    result = images({"sessions": sessions}, train=False)
    by = result.rounds.groupby("session")
    assert by.size().tolist() == [3, 5, 5, 5]
    assert by["bytes_up"].sum().tolist() == by["bytes_down"].sum().tolist() == [4 * 2600 * n for n in (3, 5, 5, 5)]
    assert by["history_bytes"].unique().explode().tolist() == [0, 2600, 3 * 2600, 5 * 2600]
    assert result.rounds["energy_j"].iloc[-1] == pytest.approx(result.rounds["round_energy_j"].sum())
    assert (result.rounds["round_energy_j"] > 0).all()
    assert not result.rounds.duplicated(["session", "round"]).any()


@pytest.mark.oracle
def test_the_same_group_finds_its_model_again():
    """Two groups without common labels: in the fifth session the weight is on the third, the first that was like it."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.0, "alpha": 5.0}}
    training = {"local_epochs": 1, "batch_size": 30, "engine": "serial", "lr": 0.01}
    first = {}
    for kind in ("previous", "average", "proposed"):
        strategy = {"kind": kind, "similarity": 30.0} if kind == "proposed" else {"kind": kind}
        sessions = {"count": 5, "rounds": 5, "initialisation": strategy}
        rounds = images({"sessions": sessions}, data=data, training=training).rounds
        first[kind] = rounds["test_accuracy"][(rounds["session"] == 5) & (rounds["round"] == 1)].item()
    assert first["proposed"] > first["average"] > first["previous"]


# Continuous


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["fedavg", "moon"])
def test_continuous_without_weight_is_previous(algorithm):
    zero, previous, some = (distilled(weight, algorithm=algorithm) for weight in (0.0, None, 1.0))
    assert np.abs(zero.parameters - previous.parameters).max() < 1e-6
    assert np.abs(some.parameters - previous.parameters).max() > 1e-3


@pytest.mark.oracle
def test_teacher_exerts_no_force_on_itself():
    """In the first step of the first session student and teacher are one; in the second they are not."""
    for steps, apart in ((1, False), (2, True)):
        taught, free = (distilled(weight, steps, count=1, rounds=1).parameters for weight in (5.0, None))
        assert bool(np.abs(taught - free).max() > 1e-5) == apart


def test_distillation_is_torchs():
    """Its mean over a batch is the task's loss + k kl_div(..., reduction="batchmean")."""
    generator = torch.Generator().manual_seed(1)
    student, teacher, losses = (torch.randn(shape, generator=generator) for shape in ((6, 4), (6, 4), (6,)))
    algorithm = Distilled(base=FedAvg(), weight=0.7)
    seen = {"teacher": ForwardPass(teacher, teacher)}
    got = algorithm.loss(losses, ForwardPass(student, student), seen, Batch(torch.zeros(6), torch.ones(6), {})).mean()
    apart = torch.nn.functional.kl_div(student.log_softmax(1), teacher.softmax(1), reduction="batchmean")
    assert float(got) == pytest.approx(float(losses.mean() + 0.7 * apart), rel=1e-5)


def test_teacher_stays_for_the_session():
    """Whatever the server learns, until its state restarts; besides the algorithm's state."""
    algorithm = Distilled(base=FedACG())
    server = initial_state(algorithm, torch.ones(3), 4)
    updates = Updates({"delta": torch.full((2, 3), 0.5)}, np.arange(2), np.ones(2, dtype=np.int64), 4)
    after = algorithm.aggregate(server, updates)
    assert after["w"].tolist() == [1.5] * 3
    assert after["m"].tolist() == [0.5] * 3
    assert after["teacher"].tolist() == [1.0] * 3


@pytest.mark.oracle
def test_engines_agree_on_distillation():
    both = []
    for engine in ("serial", "batched"):
        training = {"local_steps": 3, "batch_size": 30, "engine": engine, "lr": 0.05}
        both.append(distilled(2.0, training=training, algorithm="moon").parameters)
    assert np.abs(both[0] - both[1]).max() < 1e-5


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_device_gets_the_teacher_once_a_session(sharing):
    """Whenever it takes part first; another forward pass on every sample (cards, table 0.5)."""
    changes = {"server": {"participants": 2}, "radio": {**STILL, "sharing": sharing}}
    sessions = {"count": 3, "rounds": 4, "initialisation": {"kind": "continuous"}}
    devices = images({"sessions": sessions}, train=False, **changes).devices
    first = ~devices.duplicated(["session", "device"])
    assert 0 < first.sum() < len(devices)
    assert devices["bytes_down"].tolist() == np.where(first, 2 * 2600, 2600).tolist()
    assert (devices["bytes_up"] == 2600).all()
    vectors = {"model": {"kind": "logistic", "cost": {"parameters": 650, "flops_per_parameter": 6.0}}}
    sessions = {"count": 1, "rounds": 1, "groups": 1}
    plain = images({"sessions": sessions}, train=False, **vectors).devices["compute_s"]
    taught = {**sessions, "initialisation": {"kind": "continuous"}}
    more = images({"sessions": taught}, train=False, **vectors).devices["compute_s"]
    assert more.to_numpy() == pytest.approx(plain * 4 / 3)


@pytest.mark.parametrize("teacher", ["previous", "zeros"])
def test_the_teacher_is_the_last_session_s_model_wherever_a_session_starts(teacher):
    """After the pilot the model starts from 0 again: the step is that of the loss plus k KL(p_teacher || 1 / C).

    With a teacher of zeros the divergence is 0.
    """
    rate = 0.05
    weight = 0.7

    def trained(count):
        strategy = {"kind": "continuous", "weight": weight, "after_pilots": "initial", "after_pilots_teacher": teacher}
        training = {"local_steps": 1, "batch_size": "full", "engine": "serial", "lr": rate, "weight_decay": 0.0}
        sessions = {"count": count, "rounds": 1, "initialisation": strategy}
        model = {"kind": "logistic", "init": {"kind": "zeros"}}
        data = {"dataset": "digits", "partition": "half"}
        return images({"sessions": sessions}, data=data, model=model, training=training, devices={"count": 2})

    first = trained(1)
    second = trained(2)
    digits = Digits().load()
    rows = divide(load(second.scenario)).parts[1]
    x = (digits.train_x[rows].reshape(len(rows), -1).astype(np.float64) - digits.mean) / digits.std
    scores = x @ first.parameters[:640].reshape(10, 64).T + first.parameters[640:]
    taught = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.abs(taught - 0.1).max() > 0.01
    if teacher == "zeros":
        taught = np.full_like(taught, 0.1)
    errors = (0.1 - np.eye(10)[digits.train_y[rows]]) + weight * (0.1 - taught)
    stepped = np.concatenate([(errors.T @ x / len(rows)).ravel(), errors.mean(axis=0)])
    assert second.parameters == pytest.approx(-rate * stepped, abs=1e-5)


def test_distillation_needs_classes():
    with pytest.raises(InputError, match="continuous needs samples with one class each"):
        scalar({"count": 2, "rounds": 1, "initialisation": {"kind": "continuous"}})


# Scenarios


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("rounds: 4\nsessions: {}", ":1: rounds: sessions have rounds of their own: leave one of the two out"),
        (
            "sessions:\n  count: 2\n  initialisation: {kind: proposed, pilots: 2}",
            ":3: sessions.initialisation.pilots: must be < count = 2, so that sessions follow the pilots, got 2",
        ),
        (
            "sessions: {groups: 2, first_group: 3}",
            ":1: sessions.first_group: must be <= 2, the number of groups, got 3",
        ),
        ("devices: {count: 3}\nsessions: {groups: 4}", ":2: sessions.groups: must be <= devices.count = 3, got 4"),
        (
            "sessions: {}\nalgorithm: {kind: fedavg, mode: wait, max_participants: 2}",
            ":2: algorithm.mode: wait would never end, as some awaited devices belong to other sessions: set it to cap",
        ),
        (
            "sessions: {keep_state: true, initialisation: continuous}",
            ":1: sessions.keep_state: would keep the first teacher of the initialisation continuous: leave it out",
        ),
    ],
)
def test_contradictory_sessions_are_refused(lines, message, tmp_path, capsys):
    path = tmp_path / "scenario.yaml"
    path.write_text(lines)
    assert main(["validate", str(path)]) == 2
    assert message in capsys.readouterr().err
