"""Split learning: against a model that is really cut in two, whole-model training, and closed forms of its costs."""

import numpy as np
import pandas as pd
import pytest
import simpy
import torch
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import make_learner, train_round
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, STILL, drop, link, snr_hz, still_slots, transfers
from server_cases import check_books, interrupted
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models.resnet import ResNet

import edgefl
from edgefl.cli import main
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.learner.engines.batches import PAD, mini_batches
from edgefl.learning.learner.networks.initial import build_module, initial_parameters
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.learner.workers.processes import one_thread_each
from edgefl.learning.models.cnn import Cnn, CnnMnist, LeNet5, SvhnCnn, Vgg9
from edgefl.learning.models.convolutional import Convolutional
from edgefl.learning.models.fcn import Fcn, Mlp
from edgefl.learning.models.resnet import ResNet18, ResNet18Feat
from edgefl.learning.payload import measure, measure_split
from edgefl.learning.training_section import Training
from edgefl.learning.workload import batch_sizes
from edgefl.radio.messages import by_turns
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load
from edgefl.server.server import Server

GRAY = (28, 28)
COLOUR = (3, 32, 32)
HIDDEN = [16, 12]
CUT = "fc1"
FRONT = 65 * 16
BACK = 17 * 12 + 13 * 10
Q = 16  # floats at the cut
FRONT_F = 2 * 64 * 16  # operations of a forward pass up to the cut
BACK_F = 2 * (16 * 12 + 12 * 10)  # and of the rest
BASE = {
    "seed": 3,
    "rounds": 2,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 1.0}},
    "model": {"kind": "fcn", "hidden": HIDDEN},
    "training": {"local_epochs": 1, "batch_size": 20, "engine": "serial"},
    "algorithm": {"kind": "fedavg", "weighting": "uniform"},
    "devices": {"count": 30, "cpu_hz": {"lognormal": [15.0, 0.4]}, "rx_power_w": 0.3, "idle_power_w": 0.01},
    "radio": {"bandwidth_hz": 2e6},
}
MODES = ["parallel", "sequential"]
WHOLE = {"parallel": "synchronous", "sequential": "sequential"}


def changed(mode="parallel", server=None, training=None, **changes):
    policy = {"kind": "split", "mode": mode, "cut": CUT}
    return {
        **BASE,
        "server": {"policy": policy, "participants": 4, **(server or {})},
        "training": {**BASE["training"], **(training or {})},
        **changes,
    }


def run(*args, train=True, **changes):
    return edgefl.run(changed(*args, **changes), train=train, device="cpu")


def batches_of(result):
    """Samples of each local step [K] of each device of the scenario."""
    work = load(result.scenario).training.work
    return [batch_sizes(len(part), *work) for part in parts_of(result)]


def parts_of(result):
    scenario = load(result.scenario)
    rng = Streams(scenario.seed).generator("partition")
    data = Digits().load()
    return scenario.data.partition.assign(data.train_y, data.owner, scenario.devices.count, rng)


# Where models can be cut: algorithm cards, section 4.4

VGG = [(8192, 896), (4096, 19_392), (8192, 93_248), (2048, 240_832), (4096, 536_000), (1024, 1_126_080)]
CUTS = [
    *((Vgg9(), COLOUR, number, f"conv{number}", *sizes) for number, sizes in enumerate(VGG, 1)),
    (LeNet5(), GRAY, 1, "conv1", 864, 156),
    (LeNet5(), GRAY, 2, "conv2", 256, 2_572),
    (Mlp(), GRAY, 1, "fc1", 64, 50_240),
    (Cnn(), COLOUR, 1, "conv1", 12_544, 4_864),
    (Cnn(), COLOUR, 2, "conv2", 1_600, 107_328),
    (ResNet18(norm="none"), COLOUR, 2, "layer1", 65_536, 149_184),
]
USUAL = [(Vgg9(), COLOUR, 4), (LeNet5(), GRAY, 2), (Mlp(), GRAY, 1), (Cnn(), COLOUR, 2), (ResNet18(), COLOUR, 2)]


@pytest.mark.parametrize(("model", "shape", "number", "name", "floats", "parameters"), CUTS)
def test_published_cuts(model, shape, number, name, floats, parameters):
    """The paper's numbers are those of the layers; both are taken."""
    for cut in (number, name):
        assert model.check_cut(cut) is None
        front = model.front(cut, shape, 10)
        assert (front.outputs, front.parameters) == (floats, parameters)


@pytest.mark.parametrize(("model", "shape", "number"), USUAL)
def test_published_default_cuts(model, shape, number):
    assert model.front(None, shape, 10) == model.front(number, shape, 10)


def children(module):
    """The parts of a chain, one after another, also those of a ResNet at its end."""
    *parts, last = module
    if isinstance(last, ResNet):
        *stages, fc = last.children()
        return [*parts, *stages, nn.Flatten(), *fc]
    return [*parts, last]


def cut_in_two(module, number):
    """The front with `number` parts that have weights and what follows them without a flattening, and the back."""
    parts = children(module)
    seen = 0
    for place, part in enumerate(parts):
        starts = any(parameter.ndim > 1 for parameter in part.parameters())
        ends = isinstance(part, nn.Flatten | nn.AdaptiveAvgPool2d) and seen
        seen += starts
        if seen > number or (ends and seen == number):
            return nn.Sequential(*parts[:place]), nn.Sequential(*parts[place:])
    raise AssertionError


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (Fcn(), GRAY),
        (LeNet5(), COLOUR),
        (CnnMnist(), GRAY),
        (Vgg9(), COLOUR),
        (SvhnCnn(), COLOUR),
        (ResNet18(norm="batch"), GRAY),
        (ResNet18Feat(), (3, 17, 23)),
    ],
)
def test_counts_are_those_of_the_modules_first_part(model, shape):
    """Parameters, which begin the flat vector, numbers at the cut, and torch's count of products, for every cut."""
    with torch.device("meta"):
        module = model.module(shape, 7)
        x = torch.rand(3, *shape)
    flat = list(module.parameters())
    for number, name in enumerate(model.cuts(), 1):
        first, _ = cut_in_two(module, number)
        with FlopCounterMode(display=False) as counter:
            y = first(x)
        mine = list(first.parameters())
        front = model.front(name, shape, 7)
        assert all(a is b for a, b in zip(mine, flat, strict=False))
        assert front.parameters == sum(parameter.numel() for parameter in mine)
        assert front.outputs == y[0].numel()
        assert front.multiplications == counter.get_total_flops() / 2 / 3


# What is learned


@one_thread_each()
def reference(front, back, samples, batches, training):
    """Two machines: activations and the gradient at the cut pass between them; each clips and steps by itself."""
    settings = {"lr": training.lr, "momentum": training.momentum, "weight_decay": training.weight_decay}
    parts = front, back
    optimisers = [torch.optim.SGD(part.parameters(), **settings) for part in parts]
    x, y = samples
    for rows in (batch[batch != PAD] for batch in batches):
        activations = front(x[rows])
        arrived = activations.detach().requires_grad_()
        for optimiser in optimisers:
            optimiser.zero_grad()
        nn.functional.cross_entropy(back(arrived), y[rows]).backward()
        if training.clip_norm is not None:
            nn.utils.clip_grad_norm_(back.parameters(), training.clip_norm)
        optimisers[1].step()
        activations.backward(arrived.grad)
        if training.clip_norm is not None:
            nn.utils.clip_grad_norm_(front.parameters(), training.clip_norm)
        optimisers[0].step()


def vector(front, back):
    return torch.cat([parameter.detach().flatten() for part in (front, back) for parameter in part.parameters()])


def fill(parts, w):
    nn.utils.vector_to_parameters(w.clone(), [parameter for part in parts for parameter in part.parameters()])


SOLVER = {"local_epochs": None, "local_steps": 6, "clip_norm": 0.3, "weight_decay": 0.01, "momentum": 0.5, "lr": 0.2}
ENGINES = {"serial": SERIAL, "layers": Plan("batched", "layers", 8), "vmap": Plan("batched", "vmap", 8)}


def normalised(data, dtype):
    x = (torch.from_numpy(data.train_x).to(dtype) - data.mean) / data.std
    return x, torch.from_numpy(data.train_y)


class Small(Convolutional):
    """Two convolutions."""

    stages = ((3,), (4,))
    kernel = 3
    padding = 1
    hidden = (6,)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize(("model", "number"), [(Fcn(hidden=HIDDEN), 2), (Small(), 1), (Small(), 3)])
def test_every_engine_trains_as_two_machines_do(engine, model, number):
    data = Digits().load()
    rng = np.random.default_rng(0)
    parts = [rng.choice(len(data.train_y), size, replace=False) for size in (9, 25, 14)]
    training = Training.model_validate({"batch_size": 8, **SOLVER})
    cut = model.front(number, data.shape, 10).parameters
    work = {"batch_size": 8, **SOLVER}
    of = make_learner(model, data=data, parts=parts, seed=1, cut=cut, plan=ENGINES[engine], **work)
    updates, _ = train_round(of, range(3))
    trained = of.initial + updates.vectors["delta"]
    of.close()
    halves = cut_in_two(model.module(data.shape, 10), number)
    for device, samples in enumerate(parts):
        fill(halves, of.initial)
        batches = mini_batches(samples, training, lambda d=device: Streams(1).generator("batches", d, 0))
        reference(*halves, normalised(data, torch.float32), batches, training)
        assert torch.allclose(trained[device], vector(*halves), rtol=1e-5, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
def test_run_learns_what_two_machines_learn(mode):
    """Fronts walk through the participants, or fronts and backs are averaged (cards 1.19 and 1.20)."""
    result = run(mode, training=SOLVER)
    scenario = load(result.scenario)
    parts = parts_of(result)
    data = Digits().load()
    module = build_module(scenario.model, data, Streams(scenario.seed))
    halves = cut_in_two(module, 1)
    w = initial_parameters(scenario.model, data, module)
    for index, group in enumerate(walks(result)):
        trained = []
        for device in group:
            fill(halves, trained[-1] if trained and mode == "sequential" else w)
            generator = lambda d=device, i=index: Streams(scenario.seed).generator("batches", d, i)  # noqa: E731
            batches = mini_batches(parts[device], scenario.training, generator)
            reference(*halves, normalised(data, torch.float32), batches, scenario.training)
            trained.append(vector(*halves))
        w = trained[-1] if mode == "sequential" else torch.stack(trained).mean(0)
    assert torch.allclose(torch.from_numpy(result.parameters), w, rtol=1e-5, atol=1e-6)


def walks(result):
    """Devices of each round, in the order in which they were selected."""
    scenario = load(result.scenario)
    everybody = np.arange(scenario.devices.count)
    return [
        scenario.server.selection.choose(everybody, scenario.participants, index, Streams(scenario.seed), None).tolist()
        for index in range(scenario.rounds)
    ]


LEARNED = ["train_loss", "test_loss", "test_accuracy"]


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
def test_without_clipping_it_learns_what_whole_models_learn(mode):
    """SGD acts on each parameter by itself (oracles 1.19 and 1.20): bit by bit; with clipping it does not."""
    training = {"weight_decay": 0.01, "momentum": 0.5}
    for clip_norm, same in ((None, True), (0.1, False)):
        both = training | {"clip_norm": clip_norm}
        halves = run(mode, training=both)
        whole = run(mode, training=both, server={"policy": WHOLE[mode]})
        assert np.array_equal(halves.parameters, whole.parameters) == same
        assert halves.rounds[LEARNED].equals(whole.rounds[LEARNED]) == same


@pytest.mark.parametrize("mode", MODES)
def test_no_more_take_part_than_the_algorithm_admits(mode):
    algorithm = {"kind": "fedavg", "max_participants": 1}
    assert (edgefl.run({**changed(mode), "algorithm": algorithm}, train=False).rounds["selected"] == 1).all()


@pytest.mark.oracle
def test_with_one_participant_the_modes_are_one():
    """Also with clipping: bit by bit."""
    server = {"participants": 1}
    one, other = (
        edgefl.run(changed(mode, training={"clip_norm": 0.1}) | {"server": {**changed(mode)["server"], **server}})
        for mode in MODES
    )
    assert np.array_equal(one.parameters, other.parameters)
    for a, b in ((one.rounds, other.rounds), (one.devices, other.devices), (one.events, other.events)):
        pd.testing.assert_frame_equal(a, b, check_exact=True)


# What it costs


@pytest.mark.oracle
@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 40), st.booleans(), st.booleans())
def test_batch_sizes_are_those_of_the_batches(size, work, batch, by_epochs, wrap):
    asked = {"local_epochs": min(work, 5)} if by_epochs else {"local_steps": work, "wrap": wrap}
    training = Training.model_validate({**asked, "batch_size": batch})
    batches = mini_batches(np.arange(size), training, lambda: np.random.default_rng(0))
    assert batch_sizes(size, *training.work).tolist() == (batches != PAD).sum(axis=1).tolist()


@pytest.mark.parametrize("cost", ["full", "paper"])
@pytest.mark.parametrize("training", [{"local_epochs": 2}, {"local_steps": 7, "clip_norm": 1.0, "momentum": 0.5}])
def test_the_halves_compute_what_the_whole_computes(cost, training):
    data = Digits().load()
    sizes = np.array([7, 43, 100])
    model = Fcn(hidden=HIDDEN)
    weighed = FedAvg(), Training.model_validate({"batch_size": 20, **training}), data, sizes, cost
    halves = measure_split(model, model.front(CUT, data.shape, 10), *weighed)
    spent = [
        sum(3 * samples * share.forward + share.step for samples in halves.batches(device) for share in shares)
        for device in range(3)
        for shares in [(halves.front, halves.back)]
    ]
    assert spent == pytest.approx(measure(model, *weighed).flops, rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "training", [{"local_epochs": 2}, {"local_epochs": None, "local_steps": 3}, {"batch_size": "full"}]
)
def test_bits_on_the_air(mode, training, sharing):
    """P (K B (2 q 32 + 8) + 2 32 d_c) bits a round, short batches at their own size (oracles 1.19)."""
    result = run(mode, training=training, radio={"bandwidth_hz": 20e6, "sharing": sharing}, train=False)
    samples = np.array([sizes.sum() for sizes in batches_of(result)])[result.devices["device"]]
    assert result.devices["bytes_down"].tolist() == (4 * FRONT + 4 * Q * samples).tolist()
    assert result.devices["bytes_up"].tolist() == (4 * FRONT + (4 * Q + 1) * samples).tolist()


SERVER = {"flops_per_s": 2e6, "power_w": 30.0}


@pytest.mark.parametrize("mode", MODES)
def test_time_of_a_participation_over_a_constant_channel(mode):
    """Forward, up, server, down, backward for each step; the front down before, up after. Waiting costs idle power."""
    result = run(mode, server=SERVER, radio={"bandwidth_hz": 2e6, **STILL}, training={"clip_norm": 1.0}, train=False)
    share_hz = 2e6 / (4 if mode == "parallel" else 1)
    steps = batches_of(result)
    cpu_hz = build(load(result.scenario), "cpu", train=False, progress=silent).world.cpu_hz
    solver = 5  # operations of SGD and clipping for each parameter
    total_s = []
    for row in result.devices.itertuples():
        clock_hz = cpu_hz[row.device]
        batches = steps[row.device]
        slots = lambda bits, power_w: still_slots(  # noqa: E731
            bits,
            share_hz,
            power_w * 10 ** (-row.pathloss_db / 10) / NOISE_W_HZ / share_hz,  # noqa: B023
        )
        down_s = SLOT_S * (slots(32 * FRONT, SERVER_W) + sum(slots(32 * Q * b, SERVER_W) for b in batches))
        up_s = SLOT_S * (slots(32 * FRONT, DEVICE_W) + sum(slots((32 * Q + 8) * b, DEVICE_W) for b in batches))
        compute_s = sum(3 * b * FRONT_F + solver * FRONT for b in batches) / (8 * clock_hz)
        server_s = sum(3 * b * BACK_F + solver * BACK for b in batches) / SERVER["flops_per_s"]
        assert (row.download_s, row.upload_s) == pytest.approx((down_s, up_s))
        assert row.compute_s == pytest.approx(compute_s)
        assert row.cpu_energy_j == pytest.approx(1e-28 * compute_s * clock_hz**3)
        assert row.idle_energy_j == pytest.approx(0.01 * row.wait_s)
        assert row.rx_energy_j == pytest.approx(0.3 * down_s)
        total_s.append((down_s + up_s + compute_s + server_s, server_s))
    total_s = np.array(total_s).reshape(2, 4, 2)
    together = {"parallel": np.max, "sequential": np.sum}[mode]
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(together(total_s[:, :, 0], axis=1))
    assert result.rounds["server_energy_j"].to_numpy() == pytest.approx(30.0 * total_s[:, :, 1].sum(axis=1))
    if mode == "parallel":  # in a walk a device's wait begins with the end of its own part
        check_books(result.rounds, result.devices, result.summary)


def test_server_takes_no_time_by_default():
    result = run(train=False)
    assert (result.rounds["server_energy_j"] == 0).all()
    slow = run(server=SERVER, train=False)
    assert (slow.rounds["duration_s"] > result.rounds["duration_s"]).all()
    assert slow.rounds[["bytes_up", "bytes_down"]].equals(result.rounds[["bytes_up", "bytes_down"]])
    assert "server_energy_j" not in run(server={"policy": "synchronous"}, train=False).rounds


# The radio's part: transfers by turns


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize(
    "radio",
    [
        {},
        {"fading": "ricean", "propagation": {"kind": "umi"}},
        {"fading": {"kind": "block", "block_s": 0.002}},
        {"faults": {"failure_probability": 0.4, "attempts": 3}},
        {"transfer": "fast", "bandwidth_hz": 1e6},
        {"allocation": "proportional"},
    ],
    ids=lambda radio: "-".join(radio) or "plain",
)
def test_two_turns_are_a_download_and_an_upload(radio, sharing):
    """Bit by bit what a carrier makes of them."""
    of = link(sharing=sharing, **radio)
    ids = [2, 5, 9]
    n = 3
    whole = transfers(of, ids, bits=2e5, compute_s=0.0113)
    env = simpy.Environment()
    found = {}
    other = link(sharing=sharing, **radio)
    messages = by_turns([np.full(2, 2e5)] * n, [np.array([0.0, 0.0113])] * n)
    carrier = opened(other, env, ids, messages)

    def device(row):
        down = yield from carrier.send(row, 0)
        yield env.timeout(0.0113)
        found[row] = down, (yield from carrier.send(row, 1))

    env.run(env.all_of([env.process(device(row)) for row in range(n)]))
    for way in (0, 1):
        for name in ("duration_s", "air_s", "sent_bits", "delivered"):
            assert [getattr(found[row][way], name) for row in range(n)] == getattr(whole[way], name).tolist()


def opened(of, env, ids, messages):
    n = len(ids)
    return of.open(env, of.participants(drop(of, ids), np.full(n, 10.0), np.full(n, DEVICE_W), 0), messages)


def test_transfers_have_separate_draws():
    """Equal transfers take different times, as each slot fades independently; a repeated run gives the same."""
    for transfer in ("slots", "fast"):
        of = link(bandwidth_hz=1e6, transfer=transfer, fading={"kind": "block", "block_s": SLOT_S})
        runs = [one_by_one(of, np.full(12, 3e5))[0] for _ in range(2)]
        assert runs[0] == runs[1]
        for first in (0, 1):
            assert len({round(duration_s / SLOT_S) for duration_s in runs[0][first::2]}) > 1


def test_after_long_pauses_the_fading_is_new_each_time():
    of = link(bandwidth_hz=1e6)
    carrier = opened(of, simpy.Environment(), [4], by_turns([np.full(8, 1e5)], [np.full(8, 100.0)]))
    gains = np.array([turn.participants.start[0] for turn in carrier._turns[0]])
    assert (np.abs(gains[:, None] - gains + np.eye(8)) > 1e-3).all()


def test_fixed_shares_follow_all_bits_of_a_direction():
    """Two devices at the same place; the first has a third of the bits down and three fourths of those up."""
    of = link(allocation="proportional", bandwidth_hz=1e6, **STILL)
    bits = [np.array([4e4, 9e5, 6e4, 9e5]), np.array([1.9e5, 1e5, 1e4, 5e5])]
    shares_hz = {0: (1e6 / 3, 2e6 / 3), 1: (0.75e6, 0.25e6)}
    found = one_by_one(of, *bits)
    for row, each in enumerate(bits):
        slots = [
            still_slots(one, share_hz, snr_hz(power_w) / share_hz)
            for turn, one in enumerate(each)
            for share_hz, power_w in [(shares_hz[turn % 2][row], (SERVER_W, DEVICE_W)[turn % 2])]
        ]
        assert found[row] == pytest.approx(SLOT_S * np.array(slots))


def one_by_one(of, *bits):
    """Durations of devices' transfers, with pauses of 0.01 s."""
    env = simpy.Environment()
    n = len(bits)
    found = [[] for _ in bits]
    carrier = opened(of, env, range(n), by_turns(bits, [np.full(len(each), 0.01) for each in bits]))

    def device(row):
        for turn in range(len(bits[row])):
            yield env.timeout(0.01)
            found[row].append((yield from carrier.send(row, turn)).duration_s)

    env.run(env.all_of([env.process(device(row)) for row in range(n)]))
    return found


# Parts that end before their time


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("after_s", [0.0004, 0.0123, 0.0251, 0.0377, 0.05, 0.061])
def test_interrupted_participation_has_spent_exactly_its_time(sharing, after_s):
    """In whatever it was doing: computing, sending, waiting for the server."""
    scenario = changed(server=SERVER, radio={"bandwidth_hz": 2e6, "sharing": sharing}, rounds=1)
    _, rounds, devices, _ = interrupted([after_s] * 4, **scenario)
    assert (devices["status"] == "late").all()
    assert (devices["wait_s"] >= 0).all()
    spent = devices[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1)
    assert spent.to_numpy() == pytest.approx(after_s, abs=1e-12)
    assert rounds["duration_s"].item() == pytest.approx(after_s)
    whole = run(server=SERVER, radio={"bandwidth_hz": 2e6, "sharing": sharing}, rounds=1, train=False).devices
    for name in ("bytes_down", "bytes_up", "download_s", "upload_s", "compute_s"):
        assert (devices[name] <= whole[name] + 1e-12).all()


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("mode", MODES)
def test_a_transfer_that_fails_ends_the_part(mode, sharing):
    radio = {"bandwidth_hz": 20e6, "sharing": sharing, "faults": {"failure_probability": 0.05}}
    result = run(mode, radio=radio, rounds=6, train=False)
    assert set(result.devices["status"]) == {"received", "download_failed", "upload_failed"}
    if mode == "parallel":
        check_books(result.rounds, result.devices, result.summary)
    nothing = run(mode, radio={**radio, "faults": {"max_transfer_s": 1e-4}})
    assert (nothing.devices["status"] == "download_failed").all()
    assert (nothing.rounds["test_loss"] == nothing.rounds["test_loss"][0]).all()


# What holds for every policy


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
def test_world_is_the_same_with_and_without_learning(mode):
    trained, priced = (run(mode, server=SERVER, train=train) for train in (True, False))
    assert trained.rounds.drop(columns=LEARNED).equals(priced.rounds.drop(columns=LEARNED))
    assert trained.devices.equals(priced.devices)
    assert trained.events.equals(priced.events)


@pytest.mark.oracle
def test_order_of_simultaneous_events_has_no_effect(monkeypatch):
    """Equal devices: many send at one moment. Participations that begin together begin in reverse order."""
    devices = {"count": 12, "cpu_hz": 1e7}
    changes = {"devices": devices, "radio": {**STILL, "bandwidth_hz": 1e9, "sharing": "processor"}}
    plain = run(train=False, **changes)
    assert plain.events.groupby(["time_s", "kind"]).size().max() > 1
    dispatch = Server.dispatch
    monkeypatch.setattr(Server, "dispatch", lambda self, ids, *more: dispatch(self, ids[::-1], *more)[::-1])
    other = run(train=False, **changes)
    assert plain.devices.equals(other.devices)
    assert plain.rounds.equals(other.rounds)


# What is refused

SPLIT = "server: {policy: split}"
REFUSED = {
    "a layer that is not there": (
        "model: {kind: mlp, hidden: [8, 8]}\nserver: {policy: {kind: split, cut: fc3}}",
        'server.policy.cut: the model has no layer "fc3" to be cut after (did you mean "fc',
    ),
    "the last layer": (
        "model: mlp\nserver:\n  policy:\n    kind: split\n    cut: 2",
        "server.policy.cut: the model has no layer 2 to be cut after; known: fc1 (1)",
    ),
    "no layer": (
        "server: {policy: {kind: split, cut: [1]}}",
        "server.policy.cut: must be the name of a layer, or its number from 1, got [1]",
    ),
    "a single layer": (
        f"model: logistic\n{SPLIT}",
        "server.policy.cut: the model is not a chain of two or more layers",
    ),
    "a server that has nothing to do": (
        "server: {flops_per_s: 1e9}",
        "server.flops_per_s: the policy synchronous leaves the server nothing to train",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals_are_one_line_with_exit_code_2(case, tmp_path, capsys):
    text, message = REFUSED[case]
    file = tmp_path / "s.yaml"
    file.write_text(text + "\n")
    line = len(text.splitlines()) if "cut:" in text else ""  # that of the key itself
    assert main(["run", str(file), "--no-train", "-o", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"edgefl: {file}:{line}")
    assert f": {message}" in lines[0]
    assert not (tmp_path / "out").exists()
