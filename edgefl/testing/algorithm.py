"""The check of an algorithm."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgefl.core import global_draws
from edgefl.core.arrays import Ids
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.properties import can_forget, has_own_loss
from edgefl.learning.algorithms.rehearsal import Rehearsal
from edgefl.learning.algorithms.steps import new_session
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.operations import correction_per_parameter, counted_by_numpy, counted_by_torch
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training
from edgefl.testing.examined import BOUND, Examined, HookChecks
from edgefl.testing.report import Check, Report, finished, made, noting
from edgefl.testing.rounds import ALL, CLASSES, FEATURES, SCHEDULE, SIZES, TOGETHER, Round, problem, rounds
from edgefl.testing.values import distance, same

REHEARSED = 6  # devices of made-up rounds
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
        hyper_parameters: the keys with which the class is checked.
    """
    subject: Algorithm = made(algorithm, hyper_parameters, Algorithm, "an algorithm")
    report = Report.of(subject)
    checks = HookChecks(
        report.begin("returns", "hooks return the shapes, types and keys that they must, and no NaN"),
        report.begin("arguments", "hooks leave their arguments as they are"),
        report.begin("repeatable", "hooks return the same values from the same arguments, and use no global generator"),
        report.begin("batched is serial", f"devices together give what each gives alone (to {BOUND[torch.float64]:g})"),
    )
    reason = subject.check(len(SIZES))
    if reason:
        text = f"refuses to work with {len(SIZES)} devices ({reason}): check it with other hyper-parameters"
        checks.returns.fault(f"{type(subject).__name__}.check {text}")
        return report.raise_faults()
    _check_hooks(subject, checks)
    if report.ok:
        # Rounds would only repeat the faults of hooks in other words.
        _check_rounds(subject, report, checks, order_matters=order_matters)
    return finished(report, subject)


# Hooks by themselves


class _Unequal(Rehearsal):
    """A rehearsal whose devices have gradients of very different sizes."""

    def _gradient(self, w: Tensor, devices: Ids | int) -> Tensor:
        scale = w.new_tensor(np.asarray(SCALES)[devices])[..., None]
        # Bounded, so that models do not explode from round to round.
        return scale * super()._gradient(w, devices).tanh()

    def play(self) -> None:
        """Play rounds of all devices, of one, and of some."""
        for index, ids in enumerate(SCHEDULE):
            self.round(np.array(ids), index)
        super().play()


def _check_hooks(algorithm: Algorithm, checks: HookChecks) -> None:
    """Call the hooks in made-up rounds of both types, with several devices and with a single one."""
    for dtype in (torch.float32, torch.float64):
        for population in (REHEARSED, 1):
            if algorithm.check(population):
                continue
            rehearsal = Rehearsal if population == 1 else _Unequal
            with noting(checks.returns, "a made-up round"):
                rehearsal(Examined.of(copy.deepcopy(algorithm), checks), population, dtype).play()


# Rounds of real learning


def _check_rounds(algorithm: Algorithm, report: Report, checks: HookChecks, *, order_matters: bool) -> None:
    examined = Examined.of(algorithm, checks)
    with noting(checks.returns, "a round of learning in float32"), rounds(examined, dtype="float32") as played:
        played.play()
    learns = report.begin("learns", "models stay finite on a plain problem")
    first = _played(algorithm, learns, SERIAL)
    if learns.faults:
        return
    _check_finite(learns, first)
    together = _played(algorithm, checks.batched, TOGETHER)
    for one, other in zip(first, together, strict=False):
        _compare(checks.batched, one, other, "trained together, devices")
    repeated = report.begin("deterministic", "a second run gives the same bytes, for any state of global generators")
    _check_deterministic(algorithm, repeated, first)
    alone = report.begin("one of many", "a device's update does not depend on the others, and one device is enough")
    _check_alone(algorithm, alone, first)
    order = report.begin("order of updates", "the next state does not depend on the order of updates")
    if order_matters:
        order.meaning = "not checked: the order matters"
    else:
        _check_order(algorithm, order)
    resumed = report.begin("kill and resume", "a run resumed from its saved state gives the same bytes")
    _check_resumed(algorithm, resumed, first)
    sessions = report.begin("sessions, departures", "the state is reset, and forgets devices that have left")
    _check_sessions(algorithm, sessions)
    minimal = report.begin("minimal uploads", "the server derives what devices leave out of their uploads")
    _check_minimal(algorithm, minimal, first)
    cost = report.begin("cost", "priced bits are those that are sent; operations are counted, and grow with the model")
    with noting(cost, "pricing"):
        _check_cost(algorithm, cost, first)


def _played(algorithm: Algorithm, check: Check, plan: Plan, *, minimal: bool = False) -> list[Round]:
    """Return the rounds of the schedule; an empty list if they fail."""
    found: list[Round] = []
    with noting(check, "a round of learning"), rounds(algorithm, dtype="float64", plan=plan, minimal=minimal) as played:
        found += played.play()
    return found


def _check_finite(check: Check, played: list[Round]) -> None:
    for number, each in enumerate(played, 1):
        if not bool(each.server["w"].isfinite().all()):
            check.fault(f"the model of round {number} has NaN or infinite numbers")
            return
    if bool((played[0].server["w"] == played[-1].server["w"]).all()) and len(played) > 1:
        moved = any(bool(each.updates.vectors[name].any()) for each in played for name in each.updates.vectors)
        if not moved:
            check.fault("every upload is 0: nothing is learned")


def _compare(check: Check, one: Round, other: Round, how: str) -> None:
    """Note where two rounds differ by more than rounding."""
    bound = BOUND[torch.float64]
    for what, first, second in (
        ("upload", one.updates.vectors, other.updates.vectors),
        ("lead to the server's entry", one.server, other.server),
    ):
        for name in first:
            found = distance(first[name], second[name])
            if found is None or found > bound:
                check.fault(f'{how} {what} "{name}" that differs by {found or 0:.2g} (allowed are {bound:g})')


def _check_deterministic(algorithm: Algorithm, check: Check, first: list[Round]) -> None:
    with global_draws.seeded(123):
        again = _played(algorithm, check, SERIAL)
    for number, (one, other) in enumerate(zip(first, again, strict=False), 1):
        if not same(dict(one.server), dict(other.server)) or not same(one.updates.vectors, other.updates.vectors):
            text = "differs in a second run with other states of the global generators"
            check.fault(f"round {number} {text}: draw nothing from random, numpy.random or torch.rand")
            return


def _check_alone(algorithm: Algorithm, check: Check, first: list[Round]) -> None:
    """Check one device alone in a round, one device alone in the world, and that others do not change its update."""
    for device in (4, 5):  # with a single sample, and with many
        with noting(check, "a round of one device"), rounds(algorithm) as played:
            alone = played.round((device,))
            for name, vectors in first[0].updates.vectors.items():
                if not same(vectors[device], alone.updates.vectors[name][0]):
                    text = f'uploads another "{name}" in a round alone than with others'
                    check.fault(f"device {device} {text}: its hooks may use nothing but their arguments")
    if not algorithm.check(1):
        with noting(check, "a run with a single device"), rounds(algorithm, sizes=(9,)) as played:
            _check_finite(check, [played.round((0,)), played.round((0,))])


def _check_order(algorithm: Algorithm, check: Check) -> None:
    """Check that updates in another order, rows and ids alike, lead to the same state."""
    with noting(check, "a round of learning"), rounds(algorithm) as played:
        played.round(ALL)
        before = played.server
        updates = played.round((0, 3, 4)).updates
        turned = updates.only(np.array([2, 0, 1]))
        first = played.learner.aggregate(before, updates)
        second = played.learner.aggregate(before, turned)
        bound = BOUND[torch.float64]
        for name, value in first.items():
            found = distance(value, second[name])
            if found is None or found > bound:
                text = f'the entry "{name}" depends on the order of the rows of `updates` (by {found or 0:.2g})'
                remedy = "rows of vectors, ids, samples and weights belong together; pass order_matters=True if meant"
                check.fault(f"{type(algorithm).__name__}.aggregate: {text}: {remedy}")


def _check_resumed(algorithm: Algorithm, check: Check, first: list[Round]) -> None:
    saved = b""
    with noting(check, "saving the state"), rounds(algorithm) as played:
        for devices in SCHEDULE[:2]:
            played.round(devices)
        saved = played.save()
    if not saved:
        return
    with noting(check, "resuming from the saved state"), rounds(algorithm) as played:
        played.restore(saved)
        for number in (2, 3):
            went_on = played.round(SCHEDULE[number])
            for what, before, after in (
                ("another", first[number].server, went_on.server),
                ("other uploads", first[number].updates.vectors, went_on.updates.vectors),
            ):
                for name, value in before.items():
                    if not same(value, after[name]):
                        text = f'has {what} "{name}" after the run was resumed from its saved state'
                        remedy = "keep nothing outside the server's and the devices' states"
                        check.fault(f"round {number + 1} {text}: {remedy}")


def _check_sessions(algorithm: Algorithm, check: Check) -> None:
    population = len(SIZES)
    with noting(check, "a session after a session, or a departure"), rounds(algorithm) as played:
        played.play(SCHEDULE[:2])
        if can_forget(algorithm):
            state = algorithm.client_state(played.learner.initial)
            for name, share in algorithm.share_in_means(state, 1.0).items():
                if name not in played.server or played.server[name].shape != share.shape:
                    text = f'returned "{name}" {list(share.shape)}, but the server\'s state has no such entry'
                    check.fault(f"{type(algorithm).__name__}.share_in_means {text} of that shape")
        played.depart((1,), forget=can_forget(algorithm))
        played.round((1, 2))
        w = played.server["w"]
        renewed = new_session(algorithm, played.server, w, population)
        wanted = {name: value.shape for name, value in played.server.items() if name != "awaited"}
        found = {name: value.shape for name, value in renewed.items()}
        if wanted != found:
            check.fault(f"a new session has the entries {found}, where the last one had {wanted}")
        _check_finite(check, [Round(played.round((2,)).updates, played.server, 0.0)])


def _check_minimal(algorithm: Algorithm, check: Check, first: list[Round]) -> None:
    again = _played(algorithm, check, SERIAL, minimal=True)
    for one, other in zip(first, again, strict=False):
        _compare(check, one, other, "with training.minimal_uploads devices")


# Cost


def _check_cost(algorithm: Algorithm, check: Check, played: list[Round]) -> None:
    model = Fcn(hidden=(4,))
    training = Training(local_epochs=2, batch_size=8, lr=0.05)
    data = problem("float64", SIZES)
    try:
        payload = measure(model, algorithm, training, data, np.array(SIZES))
    except InputError as error:
        check.fault(str(error))
        return
    d = model.parameters((FEATURES,), CLASSES)
    sent = sum(vector[0].numel() for vector in played[0].updates.vectors.values())
    _equal(check, "an upload", payload.up_bits, BITS_PER_FLOAT * sent)
    with rounds(algorithm) as fresh:
        received = sum(vector.numel() for vector in algorithm.downlink(fresh.server).values())
    _equal(check, "a download", payload.down_bits + payload.once_bits, BITS_PER_FLOAT * (d + received))
    if not (payload.flops > 0).all() or not np.isfinite(payload.flops).all():
        check.fault(f"training is priced at {payload.flops} operations, expected positive numbers")
    if has_own_loss(algorithm) and payload.sample_flops <= 0:
        check.fault("the loss is priced at 0 operations")
    _check_operations(algorithm, check)


def _equal(check: Check, what: str, priced_bits: float, sent_bits: float) -> None:
    if priced_bits != sent_bits:
        text = f"{what} is priced at {priced_bits:.0f} bits before the run, and has {sent_bits} bits in the run"
        check.fault(f"{text}: return vectors of the same sizes from the first round on")


def _check_operations(algorithm: Algorithm, check: Check) -> None:
    """Check that operations do not grow faster than the model, and that both ways to count them agree."""
    correction_per_parameter(algorithm, 10**6)  # refuses what cannot be priced
    counts = {d: counted_by_torch(algorithm, d) for d in (1, 100)}
    try:
        with_numpy = {d: counted_by_numpy(algorithm, d) for d in (1, 100)}
    except Exception:  # noqa: BLE001 - hooks that call functions of torch need not run on arrays
        check.meaning += "; hooks need torch"
        return
    if with_numpy[100] - with_numpy[1] != counts[100] - counts[1]:
        text = f"counts {with_numpy[100] - with_numpy[1]} operations with NumPy, {counts[100] - counts[1]} with torch"
        check.fault(f"{type(algorithm).__name__}.correct {text}")
