"""The check of a model."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from edgefl.core import global_draws
from edgefl.core.plugins import path_of
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.learner.network_trial import kind_problem, network_problem
from edgefl.learning.learner.networks.initial import build_module
from edgefl.learning.learner.networks.module_state import trained_parameters
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models import Model
from edgefl.learning.models.count import multiplications
from edgefl.learning.models.imported import Imported
from edgefl.testing.report import Check, Report, finished, made, noting
from edgefl.testing.rounds import CLASSES, FEATURES, Round, problem, rounds
from edgefl.testing.values import distance, same

SIZES = (7, 20, 5)  # samples of the devices that train it
TOGETHER = Plan("batched", "vmap", 3)
BOUND = 1e-9  # of rounding, in parts of the largest number
COUNTED = 0.02  # relative difference that is allowed between a model's count of operations and torch's


def check_model(
    model: type[Model | nn.Module] | Model | Callable[..., nn.Module],
    *,
    shape: tuple[int, ...] = (FEATURES,),
    classes: int = CLASSES,
    labels: tuple[int, ...] = (),
    vocabulary: int | None = None,
    **keys: Any,
) -> Report:
    """Check that a model trains as the learner expects of it, and return the report.

    Args:
        model: a torch module's class, a function that makes one, or a `Model`.
        shape: of a sample, such as (1, 28, 28).
        classes: how many classes there are.
        labels: the shape of a sample's labels where tokens (T,) or pixels (H, W) have classes.
        vocabulary: how many token ids there are, for samples that are rows of ids.
        keys: the keys with which the class or the function is checked.
    """
    subject = _model(model, keys)
    name = subject.import_path if isinstance(subject, Imported) else path_of(type(subject))
    report = Report(name)
    data = problem("float64", SIZES, shape, classes, labels, vocabulary)
    given = " x ".join(map(str, data.output_shape))
    fits = report.begin("fits", f"gives {given} finite numbers for each sample {list(shape)}")
    with noting(fits, "building the module"):
        _check_fit(fits, subject, data)
    if report.ok:
        _check_fitting(report, subject, data)
    if not isinstance(subject, Imported):
        return finished(report, subject)
    return report.raise_faults()


def _check_fitting(report: Report, model: Model, data: Data) -> None:
    """Check a model that gives outputs of the right shape."""
    outputs = report.begin("outputs", "of a sample, in evaluation, do not depend on the others of its batch")
    with noting(outputs, "a forward pass"):
        _check_outputs(outputs, _module(model, data), data)
    initial = report.begin("initial model", "is a function of the seed, whatever the state of the global generators")
    with noting(initial, "building the module"):
        _check_initial(initial, model, data)
    itself = report.begin("itself", "learns and is tested as under PyTorch alone, and keeps no other state")
    with noting(itself, "a training step"):
        if reason := network_problem(model, _in_single_precision(data), Streams(1), report.subject):
            itself.fault(reason)
    counts = report.begin("cost", "parameters and operations are those of the module")
    with noting(counts, "counting"):
        _check_counts(counts, model, data)
    learns = report.begin("learns", "models stay finite, and the loss falls on a plain problem")
    random = report.begin("repeatable", "training gives the same model again, and draws from no global generator")
    together = report.begin("batched is serial", f"devices that train together get what each gets alone (to {BOUND:g})")
    _check_training(model, data, random, together, learns)


def _model(model: Any, keys: dict[str, Any]) -> Model:
    """Return a `Model`: the user's, or one around the user's module."""
    if isinstance(model, Model) or (isinstance(model, type) and issubclass(model, Model)):
        found: Model = made(model, keys, Model, "a model")
        return found
    is_other_class = isinstance(model, type) and not issubclass(model, nn.Module)
    if not callable(model) or isinstance(model, nn.Module) or is_other_class:
        raise TypeError(f"expected a class or a function that makes a torch.nn.Module, or a Model, got {model!r}")
    imported = Imported.model_validate({**keys, "import_path": path_of(model)})
    imported._maker = model  # noqa: SLF001 - a class of a test cannot always be imported by its path
    return imported


def _in_single_precision(data: Data) -> Data:
    if data.tokens:
        return replace(data, dtype="float32")
    samples = {name: getattr(data, name).astype(np.float32) for name in ("train_x", "test_x")}
    return replace(data, dtype="float32", **samples)


def _module(model: Model, data: Data) -> nn.Module:
    return build_module(model, data, Streams(1)).double().eval()


def _check_fit(check: Check, model: Model, data: Data) -> None:
    reason = model.misfit(data.train_x, data.classes)
    if reason is None and not data.several_labels and not data.tokens:
        reason = model.check(data.shape, data.classes)
    if reason:
        check.fault(f"{reason} (samples {list(data.shape)}, {data.classes} classes: give `shape` and `classes`)")
        return
    if reason := kind_problem(build_module(model, data, Streams(1)), _in_single_precision(data)):
        check.fault(reason)
        return
    found = _outputs(_module(model, data), data.train_x[:4])
    if tuple(found.shape) != (4, *data.output_shape):
        check.fault(f"gives {list(found.shape)} for 4 samples, expected {[4, *data.output_shape]}")
    elif not bool(found.isfinite().all()):
        check.fault("gives NaN or infinity for plain samples")


def _outputs(module: nn.Module, samples: Any) -> Tensor:
    with torch.no_grad():
        found: Tensor = module(torch.from_numpy(samples))
    return found


def _check_outputs(check: Check, module: nn.Module, data: Data) -> None:
    together = _outputs(module, data.train_x[:6])
    again = _outputs(module, data.train_x[:6])
    alone = torch.cat([_outputs(module, data.train_x[row : row + 1]) for row in range(6)])
    difference = distance(together, alone)
    if not same(together, again):
        check.fault("are random in evaluation: use torch.nn.Dropout, which module.eval() turns off")
    elif difference is None or difference > BOUND:
        check.fault(
            f"depend on the batch (by {difference or 0:.2g}): in evaluation an output may depend on its sample only"
        )


def _check_initial(check: Check, model: Model, data: Data) -> None:
    drawn = global_draws.states()
    first = [parameter.detach() for parameter in _module(model, data).parameters()]
    for name in global_draws.moved(drawn):
        check.fault(f"building the module draws from {name}: {global_draws.REMEDY}")
    with global_draws.seeded(7):
        second = [parameter.detach() for parameter in _module(model, data).parameters()]
    if not same(first, second):
        text = "differs from call to call with one seed"
        check.fault(f"{text}: draw parameters with torch's functions (torch.nn.init), not with numpy or random")


def _check_counts(check: Check, model: Model, data: Data) -> None:
    module = _module(model, data)
    found = sum(parameter.numel() for parameter in trained_parameters(module).values())
    claimed = model.parameters(data.shape, data.classes)
    if found != claimed:
        check.fault(f"the module has {found} parameters to train, and `parameters` says {claimed}")
    products = model.multiplications_on(data.shape, data.classes, tokens=data.tokens)
    counted = multiplications(module.float(), data.shape, tokens=data.tokens)
    if products <= 0:
        check.fault(f"`multiplications` says {products}: training would take no time")
    elif counted and abs(products - counted) > COUNTED * counted:
        check.fault(f"the module takes {counted} multiplications for a sample, and `multiplications` says {products}")


def _check_training(model: Model, data: Data, random: Check, together: Check, learns: Check) -> None:
    drawn = global_draws.states()
    first = _trained(learns, model, data)
    if not first:
        return
    for name in global_draws.moved(drawn):
        random.fault(f"the forward pass draws from {name}: draw with torch, whose draws are keyed")
    if not all(bool(each.server["w"].isfinite().all()) for each in first):
        learns.fault("the model is not finite after a few rounds on a plain problem")
    elif first[-1].loss >= first[0].loss:
        learns.fault(f"the loss goes from {first[0].loss:.4g} to {first[-1].loss:.4g} on a plain problem")
    with global_draws.seeded(99):
        again = _trained(random, model, data)
    if again and not same(first[-1].server, again[-1].server):
        random.fault("a second training gives another model: the forward pass must be a function of its input")
    if random.faults:
        return
    with rounds(FedAvg(), dtype="float64", plan=TOGETHER, sizes=SIZES, model=model, data=data) as played:
        if reason := played.learner.refusal(TOGETHER):
            together.meaning = f"not checked: devices train one by one ({reason})"
            return
        batched = [played.round((0, 1, 2)) for _ in first]
    difference = distance(first[-1].server, batched[-1].server)
    if difference is None or difference > BOUND:
        text = f"models of devices that train together differ by {difference or 0:.2g} from models trained one by one"
        together.fault(f"{text}: keep no state in the module but parameters and buffers, and no sum over the batch")


def _trained(check: Check, model: Model, data: Data) -> list[Round]:
    """Return three rounds of all devices, trained one by one; an empty list if they fail."""
    found: list[Round] = []
    with (
        noting(check, "a round of learning"),
        rounds(FedAvg(), dtype="float64", plan=SERIAL, sizes=SIZES, model=model, data=data) as played,
    ):
        found += [played.round((0, 1, 2)) for _ in range(3)]
    return found
