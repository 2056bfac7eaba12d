"""The check of an algorithm."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgefl.core import global_draws
from edgefl.core.arrays import Ids
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.properties import can_forget, has_own_loss
from edgefl.learning.algorithms.rehearsal import Rehearsal
from edgefl.learning.algorithms.steps import new_session
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.operations import correction_per_parameter, counted_by_numpy, counted_by_torch
from edgefl.learning.payload import measure
from edgefl.testing.calls import RETURNS, Calls, Property, accepts, skipped
from edgefl.testing.examined import BATCHED, BOUND, Examined
from edgefl.testing.report import Report
from edgefl.testing.rounds import (
    ALL,
    CLASSES,
    FEATURES,
    MODEL,
    SCHEDULE,
    SIZES,
    TOGETHER,
    TRAINING,
    Round,
    problem,
    rounds,
)  # fmt: skip
from edgefl.testing.values import distance, same

REHEARSED = 6  # devices of made-up rounds
ROUNDING = BOUND[torch.float64]
# Of devices' made-up gradients, so that a branch on values treats them differently.
SCALES = (1.0, 1e-3, 30.0, 0.1, 100.0, 3.0)


def check_algorithm(
    algorithm: type[Algorithm] | Algorithm, *, order_matters: bool = False, **hyper_parameters: Any
) -> Report:
    """Check that an algorithm does what a run expects of it, and return the report.

    Its hooks are called on made-up vectors, and in a few rounds of real learning on a small problem, on a CPU. Nothing
    is written.

    Args:
        algorithm: the class, or an instance.
        order_matters: whether the server takes updates one after another on purpose, so that their order counts.
        hyper_parameters: the keys for the check of the class.
    """
    calls = Calls(algorithm, hyper_parameters, Algorithm, "an algorithm")
    calls.check(accepts(f"to work with {len(SIZES)} devices", len(SIZES)))
    batched = f"devices together give what each gives by itself (to {ROUNDING:g})"
    calls.report.check(BATCHED, batched)
    made_up = [(dtype, population) for dtype in (torch.float32, torch.float64) for population in (REHEARSED, 1)]
    calls.check(Property(RETURNS, _made_up_round, cases=made_up))
    # Rounds of learning would only repeat the faults of hooks in other words.
    calls.check(Property(RETURNS, _round_of_learning))
    first: list[Round] = []  # outcomes to compare the others with
    shared = [(first,)]
    calls.check(Property("learns", _learns, "models stay finite on a plain problem", shared))
    order = Property(
        "order of updates", _order_does_not_count, "the next state does not depend on the order of updates"
    )
    if order_matters:
        order = skipped("order of updates", "the order matters")
    repeated = "a second run gives the same bytes, for any state of global generators"
    alone = "a device's update does not depend on the others, and one device is enough"
    priced = "priced bits are those that are sent; operations are counted, and grow with the model"
    calls.check(
        Property(BATCHED, _together_is_alone, batched, shared),
        Property("deterministic", _runs_are_alike, repeated, shared),
        Property("one of many", _one_is_as_in_many, alone, [(first, 4), (first, 5)]),  # a single sample, many
        Property("one of many", _one_is_enough),
        order,
        Property("kill and resume", _resumes, "a run resumed from its saved state gives the same bytes", shared),
        Property("sessions, departures", _sessions, "the state is reset, and forgets devices that have left"),
        Property("minimal uploads", _derives, "the server derives what devices leave out of their uploads", shared),
        Property("cost", _bits_are_those_sent, priced, shared),
        Property("cost", _operations_are_counted),
    )
    return calls.finished()


class _Unequal(Rehearsal):
    """A rehearsal whose devices have gradients of very different sizes."""

    def _gradient(self, w: Tensor, devices: Ids | int) -> Tensor:
        scale = w.new_tensor(np.asarray(SCALES)[devices])[..., None]
        # Bounded, so that models do not explode from round to round.
        return scale * super()._gradient(w, devices).tanh()

    def play(self) -> None:
        for index, ids in enumerate(SCHEDULE):
            self.round(np.array(ids), index)
        super().play()


def _made_up_round(calls: Calls, dtype: torch.dtype, population: int) -> None:
    if calls.subject.check(population):
        return
    rehearsal = Rehearsal if population == 1 else _Unequal
    rehearsal(Examined.of(copy.deepcopy(calls.subject), calls), population, dtype).play()


def _round_of_learning(calls: Calls) -> None:
    with rounds(Examined.of(calls.subject, calls), dtype="float32") as played:
        played.play()


def _played(calls: Calls, plan: Plan = SERIAL, *, minimal: bool = False) -> list[Round]:
    with rounds(calls.subject, plan=plan, minimal=minimal) as played:
        return played.play()


def _stays_finite(calls: Calls, *played: Round) -> None:
    for number, each in enumerate(played, 1):
        if not bool(each.server["w"].isfinite().all()):
            calls.fault(f"the model of round {number} has NaN or infinite numbers")


def _learns(calls: Calls, first: list[Round]) -> None:
    first += _played(calls)
    _stays_finite(calls, *first)
    stays = bool((first[0].server["w"] == first[-1].server["w"]).all())
    if stays and not any(bool(vector.any()) for each in first for vector in each.updates.vectors.values()):
        calls.fault("every upload is 0: nothing is learned")


def _compare(calls: Calls, first: list[Round], others: list[Round], how: str) -> None:
    """Note where rounds differ by more than rounding."""
    for one, other in zip(first, others, strict=True):
        for what, left, right in (
            ("upload", one.updates.vectors, other.updates.vectors),
            ("lead to the server's entry", one.server, other.server),
        ):
            for name in left:
                found = distance(left[name], right[name])
                if found is None or found > ROUNDING:
                    calls.fault(f'{how} {what} "{name}" that differs by {found or 0:.2g} (allowed are {ROUNDING:g})')


def _together_is_alone(calls: Calls, first: list[Round]) -> None:
    _compare(calls, first, _played(calls, TOGETHER), "trained together, devices")


def _derives(calls: Calls, first: list[Round]) -> None:
    _compare(calls, first, _played(calls, minimal=True), "with training.minimal_uploads devices")


def _runs_are_alike(calls: Calls, first: list[Round]) -> None:
    with global_draws.seeded(123):
        again = _played(calls)
    for number, (one, other) in enumerate(zip(first, again, strict=True), 1):
        if not same(dict(one.server), dict(other.server)) or not same(one.updates.vectors, other.updates.vectors):
            text = "differs in a second run with other states of the global generators"
            calls.fault(f"round {number} {text}: draw nothing from random, numpy.random or torch.rand")


def _one_is_as_in_many(calls: Calls, first: list[Round], device: int) -> None:
    with rounds(calls.subject) as played:
        alone = played.round((device,)).updates.vectors
    for name, vectors in first[0].updates.vectors.items():
        if not same(vectors[device], alone[name][0]):
            text = f'device {device} uploads another "{name}" in a round by itself than with others'
            calls.fault(f"{text}: its hooks may use nothing but their arguments")


def _one_is_enough(calls: Calls) -> None:
    if not calls.subject.check(1):
        with rounds(calls.subject, sizes=(9,)) as played:
            _stays_finite(calls, played.round((0,)), played.round((0,)))


def _order_does_not_count(calls: Calls) -> None:
    """Updates in another order, rows and ids alike, lead to the same state."""
    with rounds(calls.subject) as played:
        played.round(ALL)
        before = played.server
        updates = played.round((0, 3, 4)).updates
        first = played.learner.aggregate(before, updates)
        second = played.learner.aggregate(before, updates.only(np.array([2, 0, 1])))
    for name, value in first.items():
        found = distance(value, second[name])
        if found is None or found > ROUNDING:
            text = f'the entry "{name}" depends on the order of the rows of `updates` (by {found or 0:.2g})'
            remedy = "rows of vectors, ids, samples and weights belong together; pass order_matters=True if meant"
            calls.fault(f"{type(calls.subject).__name__}.aggregate: {text}: {remedy}")


def _resumes(calls: Calls, first: list[Round]) -> None:
    with rounds(calls.subject) as played:
        for devices in SCHEDULE[:2]:
            played.round(devices)
        saved = played.save()
    with rounds(calls.subject) as played:
        played.restore(saved)
        for number in (2, 3):
            went_on = played.round(SCHEDULE[number])
            for what, before, after in (
                ("another", first[number].server, went_on.server),
                ("other uploads", first[number].updates.vectors, went_on.updates.vectors),
            ):
                for name, value in before.items():
                    if not same(value, after[name]):
                        text = f'round {number + 1} has {what} "{name}" after the run was resumed from its saved state'
                        calls.fault(f"{text}: keep nothing outside the server's and the devices' states")


def _sessions(calls: Calls) -> None:
    algorithm = calls.subject
    with rounds(algorithm) as played:
        played.play(SCHEDULE[:2])
        if can_forget(algorithm):
            state = algorithm.client_state(played.learner.initial)
            for name, share in algorithm.share_in_means(state, 1.0).items():
                if name not in played.server or played.server[name].shape != share.shape:
                    text = f'returned "{name}" {list(share.shape)}, but the server\'s state has no such entry'
                    calls.fault(f"{type(algorithm).__name__}.share_in_means {text} of that shape")
        played.depart((1,), forget=can_forget(algorithm))
        played.round((1, 2))
        renewed = new_session(algorithm, played.server, played.server["w"], len(SIZES))
        wanted = {name: value.shape for name, value in played.server.items() if name != "awaited"}
        found = {name: value.shape for name, value in renewed.items()}
        if wanted != found:
            calls.fault(f"a new session has the entries {found}, where the last one had {wanted}")
        _stays_finite(calls, played.round((2,)))


def _bits_are_those_sent(calls: Calls, first: list[Round]) -> None:
    algorithm = calls.subject
    payload = measure(MODEL, algorithm, TRAINING, problem("float64", SIZES), np.array(SIZES))
    sent = sum(vector[0].numel() for vector in first[0].updates.vectors.values())
    with rounds(algorithm) as fresh:
        received = sum(vector.numel() for vector in algorithm.downlink(fresh.server).values())
    received += MODEL.parameters((FEATURES,), CLASSES)
    for what, priced_bits, numbers in (
        ("an upload", payload.up_bits, sent),
        ("a download", payload.down_bits + payload.once_bits, received),
    ):
        if priced_bits != BITS_PER_FLOAT * numbers:
            text = f"{what} is priced at {priced_bits:.0f} bits before the run, and has {BITS_PER_FLOAT * numbers} bits"
            calls.fault(f"{text} in the run: return vectors of the same sizes from the first round on")
    if not (payload.flops > 0).all() or not np.isfinite(payload.flops).all():
        calls.fault(f"training is priced at {payload.flops} operations, expected positive numbers")
    if has_own_loss(algorithm) and payload.sample_flops <= 0:
        calls.fault("the loss is priced at 0 operations")


def _operations_are_counted(calls: Calls) -> None:
    """Operations do not grow faster than the model, and both ways to count them agree."""
    algorithm = calls.subject
    correction_per_parameter(algorithm, 10**6)  # refuses what cannot be priced
    counts = {d: counted_by_torch(algorithm, d) for d in (1, 100)}
    try:
        with_numpy = {d: counted_by_numpy(algorithm, d) for d in (1, 100)}
    except Exception:  # noqa: BLE001 - hooks that call functions of torch need not run on arrays
        calls.current.meaning += "; hooks need torch"
        return
    if with_numpy[100] - with_numpy[1] != counts[100] - counts[1]:
        text = f"counts {with_numpy[100] - with_numpy[1]} operations with NumPy, {counts[100] - counts[1]} with torch"
        calls.fault(f"{type(algorithm).__name__}.correct {text}")
