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
from edgefl.testing.calls import REPEATABLE, Calls, Property, made
from edgefl.testing.report import Report
from edgefl.testing.rounds import CLASSES, FEATURES, Round, problem, rounds
from edgefl.testing.values import distance, same

SIZES = (7, 20, 5)  # samples of the devices that train it
DEVICES = (0, 1, 2)
ROUNDS = 3
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
        keys: the keys for the check of the class or the function.
    """
    calls = Calls(_model(model, keys), {}, Model, "a model")
    is_foreign = isinstance(calls.subject, Imported)
    calls.report = Report(calls.subject.import_path if is_foreign else path_of(type(calls.subject)))
    data = problem("float64", SIZES, shape, classes, labels, vocabulary)
    given = " x ".join(map(str, data.output_shape))
    case = [(data,)]
    calls.check(Property("fits", _fits, f"gives {given} finite numbers for each sample {list(shape)}", case))
    outputs = "of a sample, in evaluation, do not depend on the others of its batch"
    initial = "is a function of the seed, whatever the state of the global generators"
    trained: list[Round] = []
    shared = [(data, trained)]
    together = f"devices that train together get what each gets by itself (to {BOUND:g})"
    calls.check(
        Property("outputs", _outputs_are_their_own, outputs, case),
        Property("initial model", _initial_follows_seed, initial, case),
        Property("itself", _is_itself, "learns and is tested as under plain PyTorch, and keeps no other state", case),
        Property("cost", _counts_are_true, "parameters and operations are those of the module", case),
        Property("learns", _learns, "models stay finite, and the loss falls on a plain problem", shared),
        Property(
            REPEATABLE, _trains_again, "training gives the same model, and draws from no global generator", shared
        ),
        Property("batched is serial", _together_is_alone, together, shared),
    )
    if is_foreign:
        return calls.report.raise_faults()
    return calls.finished()


def _model(model: Any, keys: dict[str, Any]) -> Model:
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


def _outputs(module: nn.Module, samples: Any) -> Tensor:
    with torch.no_grad():
        found: Tensor = module(torch.from_numpy(samples))
    return found


def _fits(calls: Calls, data: Data) -> None:
    model = calls.subject
    reason = model.misfit(data.train_x, data.classes)
    if reason is None and not data.several_labels and not data.tokens:
        reason = model.check(data.shape, data.classes)
    if reason:
        calls.fault(f"{reason} (samples {list(data.shape)}, {data.classes} classes: give `shape` and `classes`)")
    if reason := kind_problem(build_module(model, data, Streams(1)), _in_single_precision(data)):
        calls.fault(reason)
    found = _outputs(_module(model, data), data.train_x[:4])
    if tuple(found.shape) != (4, *data.output_shape):
        calls.fault(f"gives {list(found.shape)} for 4 samples, expected {[4, *data.output_shape]}")
    if not bool(found.isfinite().all()):
        calls.fault("gives NaN or infinity for plain samples")


def _outputs_are_their_own(calls: Calls, data: Data) -> None:
    module = _module(calls.subject, data)
    together = _outputs(module, data.train_x[:6])
    if not same(together, _outputs(module, data.train_x[:6])):
        calls.fault("are random in evaluation: use torch.nn.Dropout, which module.eval() turns off")
    difference = distance(together, torch.cat([_outputs(module, data.train_x[row : row + 1]) for row in range(6)]))
    if difference is None or difference > BOUND:
        text = f"depend on the batch (by {difference or 0:.2g})"
        calls.fault(f"{text}: in evaluation an output may depend on its sample only")


def _initial_follows_seed(calls: Calls, data: Data) -> None:
    drawn = global_draws.states()
    first = list(_module(calls.subject, data).parameters())
    for name in global_draws.moved(drawn):
        calls.fault(f"building the module draws from {name}: {global_draws.REMEDY}")
    with global_draws.seeded(7):
        second = list(_module(calls.subject, data).parameters())
    if not same(first, second):
        text = "differs from call to call with one seed"
        calls.fault(f"{text}: draw parameters with torch's functions (torch.nn.init), not with numpy or random")


def _is_itself(calls: Calls, data: Data) -> None:
    if reason := network_problem(calls.subject, _in_single_precision(data), Streams(1), calls.report.subject):
        calls.fault(reason)


def _counts_are_true(calls: Calls, data: Data) -> None:
    model = calls.subject
    module = _module(model, data)
    found = sum(parameter.numel() for parameter in trained_parameters(module).values())
    claimed = model.parameters(data.shape, data.classes)
    if found != claimed:
        calls.current.fault(f"the module has {found} parameters to train, and `parameters` says {claimed}")
    products = model.multiplications_on(data.shape, data.classes, tokens=data.tokens)
    counted = multiplications(module.float(), data.shape, tokens=data.tokens)
    if products <= 0:
        calls.fault(f"`multiplications` says {products}: training would take no time")
    if counted and abs(products - counted) > COUNTED * counted:
        calls.fault(f"the module takes {counted} multiplications for a sample, and `multiplications` says {products}")


def _trained(calls: Calls, data: Data) -> list[Round]:
    with rounds(FedAvg(), plan=SERIAL, sizes=SIZES, model=calls.subject, data=data) as played:
        return [played.round(DEVICES) for _ in range(ROUNDS)]


def _learns(calls: Calls, data: Data, trained: list[Round]) -> None:
    drawn = global_draws.states()
    trained += _trained(calls, data)
    for name in global_draws.moved(drawn):
        text = f"the forward pass draws from {name}: draw with torch, whose draws are keyed"
        calls.report.check(REPEATABLE).fault(text)
    if not all(bool(each.server["w"].isfinite().all()) for each in trained):
        calls.fault("the model is not finite after a few rounds on a plain problem")
    if trained[-1].loss >= trained[0].loss:
        calls.fault(f"the loss goes from {trained[0].loss:.4g} to {trained[-1].loss:.4g} on a plain problem")


def _trains_again(calls: Calls, data: Data, trained: list[Round]) -> None:
    if trained:
        with global_draws.seeded(99):
            again = _trained(calls, data)
        if not same(trained[-1].server, again[-1].server):
            calls.fault("a second training gives another model: the forward pass must be a function of its input")


def _together_is_alone(calls: Calls, data: Data, trained: list[Round]) -> None:
    if not trained or calls.report.check(REPEATABLE).faults:
        return
    with rounds(FedAvg(), plan=TOGETHER, sizes=SIZES, model=calls.subject, data=data) as played:
        if reason := played.learner.refusal(TOGETHER):
            calls.current.meaning = f"not checked: devices train one by one ({reason})"
            return
        batched = [played.round(DEVICES) for _ in trained]
    difference = distance(trained[-1].server, batched[-1].server)
    if difference is None or difference > BOUND:
        text = f"models of devices that train together differ by {difference or 0:.2g} from models trained one by one"
        calls.fault(f"{text}: keep no state in the module but parameters and buffers, and no sum over the batch")
