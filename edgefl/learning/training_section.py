"""The section `training`: local work and its solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PrivateAttr,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from edgefl.core.arrays import Ids, Ints
from edgefl.core.plugin_import import NotImported
from edgefl.core.returns import Number, called
from edgefl.core.section import IF_GIVEN, Count, Section, fault, fault_at, nearest, shown
from edgefl.learning.codecs import CODECS, Codec
from edgefl.learning.codecs.none import NoCodec
from edgefl.learning.losses import LOSSES, Loss
from edgefl.learning.parameter_groups import ParameterGroup
from edgefl.learning.parts import ModelParts
from edgefl.learning.schedules import SCHEDULES, ConstantRate, Schedule
from edgefl.learning.training_engines import AUTO, EngineName

Share = Annotated[float, Field(ge=0, lt=1)]


OWN_KEYS = {  # of some optimisers
    "momentum": ("sgd",),
    "nesterov": ("sgd",),
    "adam_betas": ("adam", "adamw"),
    "adam_eps": ("adam", "adamw"),
    "adagrad_eps": ("adagrad",),
    "rmsprop_alpha": ("rmsprop",),
    "rmsprop_eps": ("rmsprop",),
}


def _is_empty(values: tuple[Any, ...]) -> bool:
    return not values


def _in_one_sentence(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        raise fault(f'must be a whole number from 1 to 1e9 or "full", got {shown(value)}') from None


BatchSize = Annotated[Count | Literal["full"], WrapValidator(_in_one_sentence)]


class Stragglers(Section):
    """Devices that do only part of their local work (FedProx, Li et al., MLSys 2020, section 5.2)."""

    share: Annotated[float, Field(ge=0, le=1)]  # Probability that a device is a straggler in a round.
    # Whether updates of stragglers count, as in FedProx; otherwise they are dropped, as in that paper's FedAvg.
    keep: bool = True


class Variation(Section):
    """Other keys of `training` for a group of devices, from some round on, or both."""

    group: str | None = None  # Name of the group in devices.groups; by default all devices.
    from_round: Count = 1  # First round with these keys; rounds of sessions are counted over the whole run.
    lr: PositiveFloat | None = None  # Learning rate of the local training, which lr_schedule changes as it does others.
    batch_size: BatchSize | None = None  # Number of samples in a step, or full for all samples of the device.
    local_epochs: Count | None = None  # Passes of each participant over its samples in a round.
    local_steps: Count | None = None  # Steps of each participant in a round.

    @property
    def given(self) -> dict[str, Any]:
        """The keys of `training` that it replaces, with their values."""
        return self.model_dump(exclude={"group", "from_round"}, exclude_none=True)


class LocalWork(NamedTuple):
    """The local work of a device in a round; if both epochs and steps are given, training ends with the first."""

    epochs: int | None  # passes over the device's samples
    steps: int | None  # mini-batches
    batch_size: int | None  # samples of a mini-batch; None for all that the device holds


class Training(Section):
    """Local training by SGD, or by an optimiser that scales each parameter's step by its gradients so far."""

    # Passes of each participant over its samples in a round; 5 if neither epochs nor steps are given.
    local_epochs: Count | None = None
    local_steps: Count | None = None  # Steps of each participant in a round, instead of local_epochs.
    wrap: bool = True  # Whether local_steps go on with another pass after one over the local data; otherwise they stop.
    stragglers: Stragglers | None = None  # Participants that do less work than others.
    batch_size: BatchSize = 50  # Number of samples in a step, or full for all samples of the device.
    lr: NonNegativeFloat = 0.1  # Learning rate of the local training.
    lr_schedule: Annotated[Schedule, SCHEDULES] = ConstantRate()  # How the learning rate changes over the rounds.
    # What the schedule counts; updates skip rounds where the algorithm only waits.
    lr_clock: Literal["updates", "rounds"] = "updates"
    # Factor on a device's learning rate after each epoch of a round.
    epoch_lr_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    # Steps of a round until a device's learning rate has risen to its value, in equal parts; none by default.
    warmup_steps: Annotated[Count | None, IF_GIVEN] = None
    # Other rates, batches and work of groups of devices, or from some round on; where several say a key, the last does.
    variations: Annotated[tuple[Variation, ...], Field(strict=False, exclude_if=_is_empty)] = ()
    # Optimiser of the local training: SGD, Adam (Kingma and Ba, ICLR 2015), AdamW (Loshchilov and Hutter, ICLR 2019),
    # Adagrad (Duchi et al., JMLR 2011) or RMSprop (Tieleman and Hinton, 2012).
    optimizer: Literal["sgd", "adam", "adamw", "adagrad", "rmsprop"] = "sgd"
    momentum: Share = 0.0  # Momentum of SGD.
    nesterov: bool = False  # Whether a step of SGD goes where the momentum leads next (Nesterov, 1983).
    adam_betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.999)  # Decay of Adam's two moments.
    adam_eps: PositiveFloat = 1e-8  # Added to the root of Adam's second moment.
    adagrad_eps: PositiveFloat = 1e-10  # Added to the root of Adagrad's sum of squares.
    rmsprop_alpha: Share = 0.99  # Decay of RMSprop's mean of squares.
    rmsprop_eps: PositiveFloat = 1e-8  # Added to the root of RMSprop's mean of squares.
    # Factor of the parameters in the gradient. With AdamW a step shrinks them by lr times this factor.
    weight_decay: NonNegativeFloat = 0.0
    # Parameters with a learning rate or a weight decay of their own; where several groups say a key, the last does.
    parameter_groups: Annotated[tuple[ParameterGroup, ...], Field(strict=False, exclude_if=_is_empty)] = ()
    clip_norm: PositiveFloat | None = None  # Largest norm of a step's gradient; longer ones are shortened to it.
    # The loss that training minimises; by default that of the model, which is the cross-entropy for most.
    loss: Annotated[Loss, LOSSES] | None = None
    # How clients are trained together. auto chooses by rule; batched trains them together, by hand where layers allow
    # it, and vmap never by hand.
    engine: EngineName = AUTO
    width: Count | None = None  # Number of clients that are trained together; by default chosen by rule.
    # Whether steps of SGD on GPUs are recorded once for each shape of a cohort, and replayed as CUDA graphs (auto); a
    # run whose steps cannot be recorded goes on without, and says so.
    graphs: Literal["off", "auto"] = "auto"
    # Precision of matrix products. tf32 is only for GPUs; bfloat16 is faster on GPUs, and for convolutions on CPUs
    # with AMX.
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    codec: Annotated[Codec, CODECS] = NoCodec()  # How uploads are compressed.
    minimal_uploads: bool = False  # Whether uploads leave out vectors that the server can work out from the others.
    # Whether statistics of batch normalisation are averaged like the model, or stay at the devices (local).
    batch_norm: Literal["averaged", "local"] = "averaged"
    # Which parts of the model train, travel, and stay at the devices; by default all of it trains and travels.
    parts: Annotated[ModelParts | None, IF_GIVEN] = None
    # Where the states of clients are kept between rounds.
    state_home: Literal["auto", "device", "host", "disk"] = "auto"

    # First device of each group, and the first one after it, by the group's name; the scenario fills it in.
    _borders: dict[str, tuple[int, int]] = PrivateAttr(default_factory=dict)

    @property
    def has_adams_moments(self) -> bool:
        """True if steps divide one moment of the gradients by another, with a correction for their number so far."""
        return self.optimizer in OWN_KEYS["adam_eps"]

    @property
    def moments(self) -> int:
        """How many vectors of the model's length the optimiser keeps in a round."""
        if self.optimizer == "sgd":
            return int(self.momentum > 0)
        return 1 + self.has_adams_moments

    @property
    def work(self) -> LocalWork:
        """The local work of a device in a round."""
        epochs = self.local_epochs
        if not self.wrap:
            epochs = 1  # steps that do not wrap end with the first pass
        batch_size = None
        if self.batch_size != "full":
            batch_size = self.batch_size
        return LocalWork(epochs, self.local_steps, batch_size)

    def know_groups(self, borders: Mapping[str, tuple[int, int]]) -> None:
        """Note each group's first device, and the first one after it, by the group's name.

        Raises:
            ValidationError: a variation is about a group that is not there.
        """
        self._borders = dict(borders)
        for place, variation in enumerate(self.variations):
            if variation.group is not None and variation.group not in borders:
                known = ", ".join(borders) or "none"
                text = f"unknown group{nearest(variation.group, borders)}; devices.groups has: {known}"
                raise fault_at(("training", "variations", place, "group"), text)

    def by_setting(self, ids: Ids, index: npt.ArrayLike) -> list[tuple[Training, Ints]]:
        """Return each section, without variations, that holds for some of devices [n], with these devices' rows [m].

        The devices are in round `index`, from 0, or in a round for each [n].
        """
        if not self.variations:
            return [(self, np.arange(len(ids)))]
        rounds = np.broadcast_to(np.asarray(index) + 1, ids.shape)
        holds = np.empty((len(ids), len(self.variations)), dtype=bool)
        for place, variation in enumerate(self.variations):
            holds[:, place] = rounds >= variation.from_round
            if variation.group is not None:
                first, end = self._borders[variation.group]
                holds[:, place] &= (ids >= first) & (ids < end)
        settings = []
        patterns, pattern_of = np.unique(holds, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            keys: dict[str, Any] = {"variations": ()}
            for variation, does_hold in zip(self.variations, pattern, strict=True):
                if does_hold:
                    keys |= variation.given
            settings.append((self.model_copy(update=keys), np.flatnonzero(pattern_of.ravel() == number)))
        return settings

    def of_device(self, device: int, index: int) -> Training:
        """Return the section that holds for a device in round `index`, from 0."""
        ((section, _),) = self.by_setting(np.array([device]), index)
        return section

    def lr_factor(self, device: int, index: int) -> float:
        """Return a device's own learning rate in round `index`, from 0, over that of the others."""
        if not self.variations:
            return 1.0
        return self.of_device(device, index).lr / self.lr

    def rate(self, index: int, rounds: int) -> float:
        """Return the learning rate in round `index`, from 0, by the clock `lr_clock`; there are `rounds` rounds."""
        must = Number("a finite number from 0", least=0.0)
        return self.lr * called(self.lr_schedule.factor, must, index, rounds)

    @model_validator(mode="before")
    @classmethod
    def _take_epochs_or_steps(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = [key for key in ("local_epochs", "local_steps") if value.get(key) is not None]
        if len(given) == 2:
            raise fault("local_epochs and local_steps exclude each other: leave one out")
        if given:
            return value
        return {**value, "local_epochs": 5}

    @model_validator(mode="after")
    def _take_the_schedules_first_rate(self) -> Training:
        try:
            first = self.lr_schedule.first_rate
        except NotImported:  # a class from outside that is not to be imported answers nothing
            return self
        if first is None or self.lr == first:
            return self
        if "lr" in self.model_fields_set:
            name = SCHEDULES.name_of(self.lr_schedule)
            raise fault_at(("lr",), f"follows from the keys of lr_schedule: {name}, as {first:g}: leave it out")
        object.__setattr__(self, "lr", first)  # the section is frozen; a validator must return the object that it gets
        return self

    @model_validator(mode="after")
    def _check_variations(self) -> Training:
        work = "local_epochs" if self.local_steps is None else "local_steps"
        other = {"local_epochs": "local_steps", "local_steps": "local_epochs"}[work]
        for place, variation in enumerate(self.variations):
            where = ("variations", place)
            if not variation.given:
                raise fault_at(where, f"varies nothing: give lr, batch_size or {work}")
            if other in variation.given:
                raise fault_at((*where, other), f"does not go with training.{work}: give {work}")
            if variation.lr is not None and self.lr == 0:
                raise fault_at((*where, "lr"), "needs a training.lr above 0, which the schedule changes: set it")
        if self.variations and self.parts is not None and self.parts.first is not None:
            raise fault_at(("variations",), "does not go with training.parts.first: leave one of them out")
        return self

    @model_validator(mode="after")
    def _check_optimizer_keys(self) -> Training:
        for key, owners in OWN_KEYS.items():
            if self.optimizer not in owners and getattr(self, key) != type(self).model_fields[key].default:
                raise fault_at(
                    (key,), f"belongs to {' and '.join(owners)}: leave it out, or set optimizer: {owners[0]}"
                )
        if self.nesterov and not self.momentum:
            raise fault_at(("nesterov",), "needs a momentum: set training.momentum, such as 0.9")
        return self

    @model_validator(mode="after")
    def _check_first_part(self) -> Training:
        if self.parts is None or self.parts.first is None:
            return self
        unit = "epochs" if self.local_steps is None else "steps"
        total = getattr(self, f"local_{unit}")
        count = getattr(self.parts.first, unit)
        key = ("parts", "first")
        if count is None:
            raise fault_at(key, f"needs {unit} here, as training has local_{unit}: give {unit}")
        if count >= total:
            text = f"must be below training.local_{unit}, {total}, as the other parameters train in the rest"
            raise fault_at((*key, unit), f"{text}: lower it, or raise training.local_{unit}")
        return self

    @model_validator(mode="after")
    def _check_wrap(self) -> Training:
        if not self.wrap and self.local_steps is None:
            raise fault_at(("wrap",), "false needs local_steps, as epochs are whole passes: set local_steps")
        return self
