"""Checks of what an algorithm's hooks return, and faults that name the hook and its line.

A vector of a wrong size or type can go unnoticed: torch broadcasts shapes and converts between float32 and float64. So
each hook has a contract, which is written out here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PrivateAttr

from edgefl.core.errors import RunError
from edgefl.core.global_draws import REMEDY, moved, states
from edgefl.learning.algorithms.base import ForwardPass, LocalContext, Updates
from edgefl.learning.algorithms.hook_errors import HookError, first_line, place, place_of_error
from edgefl.learning.algorithms.wrapper import HOOKS, Wrapper

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Ids

Sizes = dict[str, tuple[int, ...]]  # of vectors, by name, without the axis of clients

SERVER_HOOKS = frozenset({"aggregate", "carried_over"})  # these get one server's state, never an axis of devices
BATCHED = "hooks of devices get vectors [d] or [devices, d], so count axes from the end (x[..., 0], dim=-1)"
PLAIN = 1e12  # a product of three such numbers is finite in float32; larger ones are about to overflow
AWAITED = "awaited"  # the entry of the server's state that holds ids of devices, not a tensor


class Watched(Wrapper):
    """Another algorithm, whose hooks are checked whenever they are called.

    The first fault raises a `HookError`. NaN and infinity are faults only if the hook got plain numbers, not NaN or a
    model that is about to overflow.
    """

    _sizes: dict[str, Sizes] = PrivateAttr(
        default_factory=dict
    )  # of each hook's first vectors, which later ones must have

    def fail(self, hook: str, text: str) -> None:
        """Raise the fault of a hook; a subclass may note it and go on."""
        raise HookError(f"{place(self.base, hook)}: algorithm: {type(self.base).__name__}.{hook} {text}")

    def drew(self, hook: str, generator: str) -> None:
        """Raise the fault of a hook that drew from a global generator; a subclass may note it and go on."""
        self.fail(hook, f"draws from {generator}: {REMEDY}")

    def call(self, hook: str, *args: Any) -> Any:
        """Return what a hook of the algorithm returns.

        Raises:
            HookError: the hook raises an exception, or draws from a global generator.
        """
        drawn = states()
        try:
            value = getattr(self.base, hook)(*args)
        except RunError:
            raise  # written for the user already
        except Exception as error:
            where = place_of_error(self.base, error) or place(self.base, hook)
            name = f"{type(self.base).__name__}.{hook}"
            raise HookError(f"{where}: algorithm: {name} raised {type(error).__name__}: {first_line(error)}") from error
        for generator in moved(drawn):
            self.drew(hook, generator)
        return value

    # What each hook must return, in the order in which a run calls them

    def _returned_server_state(self, state: Any, w: Tensor) -> None:
        if self._is_mapping("server_state", state):
            if "w" not in state:
                self.fail("server_state", f'returned {names(state)}, without the model: add the entry "w"')
            else:
                self._check_vector("server_state", '"w"', state["w"], tuple(w.shape), w)
            self._check_tensors("server_state", state, w)

    def _returned_device_rows(self, rows: Any, w: Tensor) -> None:
        self._check_vectors("device_rows", rows, (), w, infinite=True)

    def _returned_client_state(self, state: Any, w: Tensor) -> None:
        self._check_vectors("client_state", state, (), w)

    def _returned_awaited(self, ids: Any, _awaited: Ids, _received: Ids, population: int, _rng: object) -> None:
        self._check_ids("awaited", ids, population)

    def _returned_admit(self, admitted: Any, ids: Ids, _server: object, _rng: object) -> None:
        if self._check_ids("admit", admitted, int(ids.max(initial=0)) + 1):
            kept = ids[np.isin(ids, admitted)]
            if not np.array_equal(kept, admitted):
                self.fail("admit", f"returned {admitted}, which are not part of {ids} in the same order")

    def _returned_waits(self, waits: Any, _server: object, _received: Ids) -> None:
        if not isinstance(waits, bool | np.bool_):
            self.fail("waits", f"returned {kind(waits)}, expected True or False: write bool(...)")

    def _returned_broadcast(self, w: Any, server: Mapping[str, Tensor]) -> None:
        finite = are_plain(server)
        self._check_vector("broadcast", "a model", w, tuple(server["w"].shape), server["w"], finite=finite)

    def _returned_downlink(self, vectors: Any, server: Mapping[str, Tensor]) -> None:
        self._check_vectors("downlink", vectors, (), server["w"], finite=are_plain(server))
        self._check_sizes("downlink", vectors)

    def _returned_sent_once(self, sent: Any) -> None:
        if not isinstance(sent, (set, frozenset)):
            self.fail("sent_once", f"returned {kind(sent)}, expected a frozenset of names")

    def _returned_labels(self, labels: Any, y: Tensor, local: LocalContext) -> None:
        if not is_tensor(labels):
            self.fail("labels", f"returned {kind(labels)}, expected a tensor {list(y.shape)}")
        elif labels.shape != y.shape or labels.dtype != y.dtype:
            self.fail("labels", f"returned {kind(labels)}, expected {kind(y)}, as the labels of the samples are")
        elif not is_floating(y) and local.run.labels:
            classes = len(local.run.labels)
            wrong = (labels != y) & ((labels < 0) | (labels >= classes))
            if wrong.any():
                self.fail("labels", f"returned label {labels[wrong][0]}, but classes are 0 to {classes - 1}")

    def _returned_references(self, models: Any, local: LocalContext) -> None:
        if self._is_mapping("references", models):
            for name, model in models.items():
                finite = are_plain(local)
                self._check_vector("references", f'"{name}"', model, tuple(local.start.shape), local.start, finite)

    def _returned_loss(self, found: Any, losses: Tensor, own: ForwardPass, _references: object, _batch: object) -> None:
        finite = are_plain((losses, own.outputs, own.z))
        if is_tensor(found) and found.dtype != losses.dtype and is_floating(found):
            return  # autocast chooses types here
        self._check_vector("loss", "losses", found, tuple(losses.shape), losses, finite=finite)

    def _returned_correct(self, corrected: Any, gradient: Tensor, w: Tensor, local: LocalContext) -> None:
        finite = are_plain((gradient, w, local))
        self._check_vector("correct", "a gradient", corrected, tuple(gradient.shape), gradient, finite=finite)

    def _returned_decay(self, decay: Any, local: LocalContext) -> None:
        if isinstance(decay, Real):
            if not np.isfinite(float(decay)):
                self.fail("decay", f"returned {decay}, expected a finite number")
            return
        lead = tuple(local.start.shape[:-1])
        if not is_tensor(decay):
            self.fail("decay", f"returned {kind(decay)}, expected a number or a tensor {[*lead, 1]}")
        elif tuple(decay.shape) not in {(), (1,), (*lead, 1)}:
            got = list(decay.shape)
            self.fail("decay", f"returned a tensor {got}, expected one number for each client {[*lead, 1]}")
        elif are_plain(local) and not are_finite(decay):
            self.fail("decay", "returned NaN or infinity from finite numbers")

    def _returned_finish(self, vectors: Any, w: Tensor, local: LocalContext) -> None:
        self._check_vectors("finish", vectors, tuple(w.shape[:-1]), w, finite=are_plain((w, local)))
        if isinstance(vectors, Mapping) and not vectors:
            self.fail("finish", "returned no vector, but an update needs one")
        self._check_sizes("finish", vectors)

    def _returned_derived(self, vectors: Any, upload: Mapping[str, Tensor], local: LocalContext) -> None:
        finite = are_plain((upload, local))
        self._check_vectors("derived", vectors, tuple(local.start.shape[:-1]), local.start, finite=finite)
        self._check_sizes("derived", vectors)

    def _returned_remember(self, state: Any, w: Tensor, local: LocalContext) -> None:
        lead = tuple(w.shape[:-1])
        one = w.reshape(-1, w.shape[-1])[0]
        initial = self.base.client_state(one)
        if self._is_mapping("remember", state):
            self._check_names("remember", state, initial, "client_state")
            self._check_vectors("remember", state, lead, w, finite=are_plain((w, local)))
            for name in state.keys() & initial.keys():
                wanted = (*lead, *initial[name].shape)
                if is_tensor(state[name]) and tuple(state[name].shape) != wanted:
                    got = list(state[name].shape)
                    self.fail("remember", f'returned "{name}" {got}, expected {list(wanted)}, as in client_state')

    def _returned_aggregate(self, after: Any, server: Mapping[str, Tensor], updates: Updates) -> None:
        if not self._is_mapping("aggregate", after):
            return
        before = {name: value for name, value in server.items() if name != AWAITED}
        kept = {name: value for name, value in after.items() if name != AWAITED}
        self._check_names("aggregate", kept, before, "the server's state")
        finite = are_plain((server["w"], updates)) and not any(has_nan(value) for value in before.values())
        for name in kept.keys() & before.keys():
            shape = tuple(before[name].shape)
            # tables may hold infinities from the beginning, such as the age of an update that never came
            infinite = name != "w"
            self._check_vector("aggregate", f'"{name}"', kept[name], shape, before[name], finite, infinite=infinite)

    def _returned_trace(self, columns: Any, _server: object, _updates: Updates) -> None:
        if self._is_mapping("trace", columns):
            for name, value in columns.items():
                if not isinstance(value, Real):
                    self.fail("trace", f'returned {kind(value)} as "{name}", expected a number: write float(...)')

    def _returned_contributors(self, ids: Any, _server: object, updates: Updates) -> None:
        if self._check_ids("contributors", ids, updates.population) and (np.diff(ids) <= 0).any():
            self.fail("contributors", f"returned {ids}, expected ascending ids, each once: use np.unique")

    def _returned_carried_over(self, kept: Any, server: Mapping[str, Tensor]) -> None:
        if self._is_mapping("carried_over", kept):
            for name, value in kept.items():
                if name not in server:
                    self.fail("carried_over", f'returned "{name}", which is not an entry of the server\'s state')
                else:
                    shape = tuple(server[name].shape)
                    self._check_vector("carried_over", f'"{name}"', value, shape, server[name], infinite=True)

    def _returned_share_in_means(self, shares: Any, _state: object, _weight: float) -> None:
        self._is_mapping("share_in_means", shares)

    # Checks

    def _is_mapping(self, hook: str, value: object) -> bool:
        if isinstance(value, Mapping):
            return True
        self.fail(hook, f"returned {kind(value)}, expected a dictionary of tensors by name")
        return False

    def _check_names(self, hook: str, got: Mapping[str, Any], wanted: Mapping[str, Any], of: str) -> None:
        if got.keys() != wanted.keys():
            self.fail(hook, f"returned {names(got)}, expected {names(wanted)}, the entries of {of}")

    def _check_tensors(self, hook: str, vectors: Mapping[str, Any], like: Tensor) -> None:
        for name, vector in vectors.items():
            if not is_tensor(vector):
                self.fail(hook, f'returned {kind(vector)} as "{name}", expected a tensor')
            elif is_floating(vector) and vector.dtype != like.dtype:
                self.fail(hook, self._type_fault(f'"{name}"', vector, like))

    def _check_vectors(
        self,
        hook: str,
        vectors: Mapping[str, Any],
        lead: tuple[int, ...],
        like: Tensor,
        *,
        finite: bool = True,
        infinite: bool = False,
    ) -> None:
        """Check vectors [*lead, n] of any lengths n."""
        if not self._is_mapping(hook, vectors):
            return
        for name, vector in vectors.items():
            if is_tensor(vector) and tuple(vector.shape[:-1]) == lead and vector.ndim:
                shape = tuple(vector.shape)
            else:
                wanted = "[n]" if not lead else f"[{lead[0]}, n], a row for each client"
                got = f"a tensor {list(vector.shape)}" if is_tensor(vector) else kind(vector)
                text = f'returned {got} as "{name}", expected a tensor {wanted}'
                self.fail(hook, f"{text}: {BATCHED}" if lead else text)
                continue
            self._check_vector(hook, f'"{name}"', vector, shape, like, finite, infinite=infinite)

    def _check_vector(
        self,
        hook: str,
        what: str,
        vector: Any,
        shape: tuple[int, ...],
        like: Tensor,
        finite: bool = True,  # noqa: FBT001, FBT002
        *,
        infinite: bool = False,
    ) -> None:
        """Check a vector: its shape, its type (that of `like`) and, if the hook got `finite` numbers, its numbers.

        The message names it `what`. With `infinite` infinities are allowed.
        """
        if not is_tensor(vector):
            self.fail(hook, f"returned {kind(vector)} as {what}, expected a tensor {list(shape)}")
        elif tuple(vector.shape) != shape:
            text = f"returned {what} of shape {list(vector.shape)}, expected {list(shape)}"
            if len(shape) > 1 and hook not in SERVER_HOOKS:
                text = f"{text}: {BATCHED}"
            self.fail(hook, text)
        elif vector.dtype != like.dtype:
            self.fail(hook, self._type_fault(what, vector, like))
        elif finite and infinite and has_nan(vector):
            self.fail(hook, f"returned NaN in {what} from finite numbers")
        elif finite and not infinite and not are_finite(vector):
            self.fail(hook, f"returned NaN or infinity in {what} from finite numbers")

    def _type_fault(self, what: str, vector: Any, like: Tensor) -> str:
        remedy = "make tensors from others (x.new_tensor(...), torch.zeros_like(x)), which gives them the right type"
        return f"returned {what} in {vector.dtype}, expected {like.dtype}: {remedy}"

    def _check_sizes(self, hook: str, vectors: Mapping[str, Any]) -> None:
        """Check that a hook's vectors have the names and sizes of its first call."""
        if not isinstance(vectors, Mapping) or not all(is_tensor(vector) for vector in vectors.values()):
            return
        sizes = {name: tuple(vector.shape[-1:]) for name, vector in vectors.items()}
        first = self._sizes.setdefault(hook, sizes)
        if sizes != first:
            text = "which depends on the device or the round: their sizes are what it costs to send them"
            self.fail(hook, f"returned {shown_sizes(sizes)} after {shown_sizes(first)}, {text}")

    def _check_ids(self, hook: str, ids: Any, population: int) -> bool:
        if not isinstance(ids, np.ndarray) or ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
            self.fail(hook, f"returned {kind(ids)}, expected a NumPy array of ids (int64)")
            return False
        if len(ids) and not 0 <= ids.min() <= ids.max() < population:
            self.fail(hook, f"returned ids {ids.min()} to {ids.max()}, but devices are 0 to {population - 1}")
            return False
        return True


def _watched_hook(name: str) -> Callable[..., Any]:
    def hook(self: Watched, *args: Any) -> Any:
        value = self.call(name, *args)
        getattr(self, f"_returned_{name}")(value, *args)
        return value

    return hook


for _name in HOOKS:
    if hasattr(Watched, f"_returned_{_name}"):
        setattr(Watched, _name, _watched_hook(_name))


# Values


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor, or an array, which hooks get in runs without learning."""
    return isinstance(value, np.ndarray) or hasattr(value, "new_tensor")


def is_floating(vector: Any) -> bool:
    """Return whether a tensor holds real numbers."""
    if isinstance(vector, np.ndarray):
        return np.issubdtype(vector.dtype, np.floating)
    return bool(vector.is_floating_point())


def are_finite(value: Any) -> bool:
    """Return whether all numbers in a value are finite; it may be a context, updates, a mapping or a sequence."""
    return _all_within(value, np.inf)


def are_plain(value: Any) -> bool:
    """Return whether all numbers in a value are finite and none is so large that a product of a few overflows."""
    return _all_within(value, PLAIN)


def _all_within(value: Any, limit: float) -> bool:
    """Return whether all numbers in a value are below a limit; NaN is not."""
    if isinstance(value, LocalContext):
        value = [value.start, value.lr, value.received, value.state, value.gradient]
    elif isinstance(value, Updates):
        value = [value.vectors, value.losses]
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_all_within(item, limit) for item in value)
    if isinstance(value, float):
        return abs(value) < limit
    if is_tensor(value) and is_floating(value):
        return bool((abs(value) < limit).all())
    return True


def has_nan(vector: Any) -> bool:
    """Return whether a tensor holds NaN."""
    if isinstance(vector, np.ndarray):
        return vector.dtype.kind == "f" and bool(np.isnan(vector).any())
    return is_tensor(vector) and is_floating(vector) and bool(vector.isnan().any())


# Words


def kind(value: object) -> str:
    """Return a description of a value for messages: "a list", "None"."""
    if value is None:
        return "None"
    if is_tensor(value):
        return f"a tensor {list(value.shape)} of {value.dtype}"  # type: ignore[attr-defined]
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def names(mapping: Mapping[str, Any]) -> str:
    """Return the names of a mapping for messages."""
    return ", ".join(f'"{name}"' for name in mapping) or "no entries"


def shown_sizes(sizes: Sizes) -> str:
    """Return the sizes of vectors by name for messages."""
    return ", ".join(f'"{name}" {list(size)}' for name, size in sizes.items()) or "nothing"
