"""Questions about an algorithm, answered by its hooks and flags."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from edgefl.core.catalogue import Member, Unknown
from edgefl.core.plugin_import import NotImported
from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Algorithm, LocalContext
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.trial import first_round, zeros
from edgefl.learning.algorithms.watched import Watched
from edgefl.learning.algorithms.wrapper import Wrapper

DEVICE_HOOKS = (  # hooks that decide how a device trains and what it sends
    "client_state", "downlink", "needs_gradient", "labels", "references", "loss", "correct", "decay", "finish",
    "remember",
)  # fmt: skip


def trains_by_plain_sgd(algorithm: Algorithm) -> bool:
    """Return whether devices run nothing but SGD on the task's loss, and send nothing but their move."""
    cls = _class_of(algorithm)
    return all(getattr(cls, hook) is getattr(Algorithm, hook) for hook in DEVICE_HOOKS)


def only_averages(algorithm: Algorithm) -> bool:
    """Return whether the next model is a weighted mean of the participants' models: of a single one, that model."""
    return _class_of(algorithm).aggregate is FedAvg.aggregate


def is_divisible(algorithm: Algorithm) -> bool:
    """Return whether several servers can each run it for their own devices, as it keeps nothing but the model."""
    return not algorithm.weighs_population and not keeps_more_than_model(algorithm)


def keeps_more_than_model(algorithm: Algorithm) -> bool:
    """Return whether the server keeps anything besides the model; what a wrapper adds does not count."""
    own = unwrapped(algorithm)
    w = zeros(own, 1)
    return set(own.server_state(w)) != {"w"} or bool(own.device_rows(w))


def keeps_updates(algorithm: Algorithm) -> bool:
    """Return whether the server keeps a vector of the model's size for each device."""
    # Rows of length 1 are numbers such as ages; vectors have the length of the model, here two parameters.
    rows = algorithm.device_rows(zeros(algorithm, 2))
    return any(len(row) == 2 for row in rows.values())


def keeps_for_each_device(algorithm: Algorithm) -> bool:
    """Return whether a device, or the server for it, keeps something from one of its rounds to the next."""
    w = zeros(algorithm, 1)
    return bool(algorithm.client_state(w)) or bool(algorithm.device_rows(w))


def keeps_at_devices(algorithm: Algorithm) -> bool:
    """Return whether a device keeps something from one of its rounds to the next."""
    return bool(algorithm.client_state(zeros(algorithm, 1)))


def is_coupled(algorithm: Algorithm) -> bool:
    """Return whether the server keeps sums of devices' states, so that both must begin again together."""
    own = unwrapped(algorithm)
    return keeps_more_than_model(own) and bool(own.client_state(zeros(own, 1)))


def can_forget(algorithm: Algorithm) -> bool:
    """Return whether the server can take a device out of what it keeps."""
    state = algorithm.client_state(zeros(algorithm, 1))
    return not is_coupled(algorithm) or bool(algorithm.share_in_means(state, 1.0))


def divides_by_lr(algorithm: Algorithm) -> bool:
    """Return whether devices send or keep a move divided by the learning rate, which then must not be 0."""
    w = zeros(algorithm, 1)
    # A move of 0 over a rate of 0 is NaN.
    local = first_round(algorithm, w, lr=0.0)
    with np.errstate(all="ignore"):
        vectors = [*algorithm.finish(w, local).values(), *algorithm.remember(w, local).values()]
    return not all(np.isfinite(np.asarray(vector)).all() for vector in vectors)


def weighs_steps(algorithm: Algorithm) -> bool:
    """Return whether devices divide their move by steps or rates, or use the gradient of all their samples."""
    if algorithm.needs_gradient or divides_by_lr(algorithm):
        return True
    local = first_round(algorithm, zeros(algorithm, 1))
    return not _sends_the_same(algorithm, local, replace(local, steps=2.0 * local.steps))


def weighs_rates(algorithm: Algorithm) -> bool:
    """Return whether what devices send or keep of their move depends on the learning rate."""
    if divides_by_lr(algorithm):
        return True
    local = first_round(algorithm, zeros(algorithm, 1))
    local = replace(local, steps=2.0 * local.steps)  # so that a rate may count from one step to the next
    return not _sends_the_same(algorithm, local, replace(local, lr=2.0 * local.lr))


def _sends_the_same(algorithm: Algorithm, one: LocalContext, other: LocalContext) -> bool:
    """Return whether a device that has not moved sends the same in two contexts."""
    sent = [algorithm.finish(local.start, local) for local in (one, other)]
    return all(np.array_equal(np.asarray(sent[0][name]), np.asarray(sent[1][name])) for name in sent[0])


def uploads_move(algorithm: Algorithm) -> bool:
    """Return whether devices upload the move that local training has made, so that the server knows local models."""
    w = zeros(algorithm, 1)
    return "delta" in algorithm.finish(w, first_round(algorithm, w))


def has_own_loss(algorithm: Algorithm) -> bool:
    """Return whether devices minimise a loss other than the task's."""
    return _definer(algorithm, "loss") is not Algorithm


def has_own_labels(algorithm: Algorithm) -> bool:
    """Return whether devices train on other labels than those of their samples."""
    return _definer(algorithm, "labels") is not Algorithm


def needs_whole_model(algorithm: Algorithm) -> bool:
    """Return whether devices compare or decay all parameters that they train, not only those that travel."""
    decays = _definer(algorithm, "decay") is not Algorithm
    return has_own_loss(algorithm) or bool(algorithm.own_models()) or decays


def has_loss_by_hand(algorithm: Algorithm) -> bool:
    """Return whether the same class defines the algorithm's `added_loss` and `loss`."""
    if isinstance(algorithm, Watched):  # it must watch `loss`
        return False
    return _definer(algorithm, "added_loss") is _definer(algorithm, "loss")


def depends_on_rounds(algorithm: Algorithm) -> bool:
    """Return whether a round may depend on the number of rounds; a class from outside may, unless it says no."""
    cls = _class_of(algorithm)
    if isinstance(algorithm, Wrapper):
        return depends_on_rounds(algorithm.base) or cls.depends_on_rounds is True
    if cls.depends_on_rounds is None:
        return not cls.__module__.startswith("edgefl.")
    return bool(cls.depends_on_rounds)


def takes_same_steps(algorithm: Algorithm) -> bool:
    """Return whether each device takes the steps of one with the mean number of samples."""
    return type(unwrapped(algorithm)).same_steps


def _class_of(algorithm: Member) -> type[Algorithm]:
    """Return the class of an algorithm; one that was not imported answers no question, and raises `NotImported`."""
    if isinstance(algorithm, Unknown):
        raise NotImported(algorithm.import_path)
    return cast("type[Algorithm]", type(algorithm))


def _definer(algorithm: Algorithm, name: str) -> type:
    """Return the class whose hook `name` counts: that of the inner algorithm if a wrapper only passes calls on."""
    cls = next(base for base in _class_of(algorithm).__mro__ if name in vars(base))
    if isinstance(algorithm, Wrapper) and cls in {Wrapper, Watched}:
        return _definer(algorithm.base, name)
    return cls


def weighs_by_samples(algorithm: Algorithm) -> bool:
    """Return whether the server's mean over participants is one by their samples."""
    own = unwrapped(algorithm)
    return isinstance(own, Averaging) and own.weighting == "samples" and not own.weighs_population


def unwrapped(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm inside all wrappers."""
    while isinstance(algorithm, Wrapper):
        algorithm = algorithm.base
    return algorithm
