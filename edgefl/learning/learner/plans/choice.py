"""The choice of a training plan: by rule, as the scenario says, or the fastest one by trials on this machine."""

import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn

from edgefl.core.errors import InputError, RunError
from edgefl.core.version import edgefl_version
from edgefl.learning.algorithms.properties import has_own_loss
from edgefl.learning.learner.calls import Workers, as_is
from edgefl.learning.learner.client_inputs import ClientInputs
from edgefl.learning.learner.kernels.layers import has_images
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.kernels.triton_availability import has_triton
from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.cache import processor, remembered
from edgefl.learning.learner.plans.plan import SERIAL, CannotBatchError, Plan, Together, Trial, candidates, fastest
from edgefl.learning.learner.plans.rule import Work, plan_by_rule
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.losses import LOSSES
from edgefl.learning.torch_device import gpu_bytes
from edgefl.learning.training_section import Training

log = logging.getLogger("edgefl")


def choose_plan(task: LearningTask, network: Network, workers: Workers, inputs: ClientInputs) -> Plan:
    """Return the plan by which clients are trained; a worker tries plans on the first inputs of one client.

    Raises:
        InputError: the scenario trains clients together, and the model cannot be batched.
        RunError: the memory is too small.
    """
    if task.training.engine == "serial":
        return SERIAL
    try:
        if task.training.engine == "measured":
            return _measured(task, network, workers, inputs)
        return _by_rule(task, network, workers, inputs)
    except MemoryError:
        count = task.training.width or 1
        raise RunError(
            f"the memory of {inputs.start.device} is too small to train {count} of the clients together: "
            "use a smaller training.batch_size or a smaller model"
        ) from None
    except CannotBatchError as error:
        raise InputError(f"training.engine: batched: the model cannot be batched ({error}); use serial") from None


def _by_rule(task: LearningTask, network: Network, workers: Workers, inputs: ClientInputs) -> Plan:
    """Return the plan by rule, with the scenario's width if it has one."""
    device = inputs.start.device
    work = _work_of_rule(task, network, workers, device)
    plan = _plan_of_work(task.training, work, device)
    if plan.kernel == "triton":
        log.info("Triton compiles the kernels for this network, or finds them in its cache")
        refusal = _refusal(plan, workers, inputs)
        if refusal is not None:
            log.warning(
                "edgefl's kernels for GPUs cannot be used here (%s): training takes torch's, which are slower", refusal
            )
            plan = _plan_of_work(task.training, replace(work, by_triton=False), device)
    if plan.kernel == "vmap":
        refusal = _refusal(plan, workers, inputs)
        if refusal is not None:
            if task.training.engine != "auto" or task.training.width is not None:
                raise CannotBatchError(refusal)
            plan = SERIAL
    log.info("training plan: %s", plan)
    return plan


def _plan_of_work(training: Training, work: Work, device: torch.device) -> Plan:
    memory_bytes: int | None = None
    if device.type != "cpu":
        memory_bytes = gpu_bytes(str(device))
    if training.width is None:
        return plan_by_rule(training.engine, work, memory_bytes)
    engine = "batched" if training.engine == "auto" else training.engine
    return replace(plan_by_rule(engine, work, memory_bytes), width=training.width)


def _refusal(plan: Plan, workers: Workers, inputs: ClientInputs) -> str | None:
    """Return why a plan cannot be used; None if it can. Only a trial tells; its time does not count."""
    try:
        workers.submit("rehearse", partial(as_is, (replace(plan, width=1), inputs)), as_is).result()
    except CannotBatchError as error:
        return str(error)
    return None


def _work_of_rule(task: LearningTask, network: Network, workers: Workers, device: torch.device) -> Work:
    training = task.training
    activations = 0
    if device.type != "cpu":
        activations = workers.submit("activations", tuple, int).result()
    batch_size = training.batch_size
    if batch_size == "full":
        batch_size = int(np.median(task.sizes))
    return Work(
        by_hand=_by_hand(task, network),
        images=has_images(network.module),
        by_triton=_by_triton(task, network, device),
        parameters=len(network.parameters),
        activations=activations,
        batch_size=batch_size,
        participants=task.participants,
    )


def _by_hand(task: LearningTask, network: Network) -> bool:
    # layers by hand know no autocast: bfloat16 needs torch's own operations
    return task.training.precision != "bfloat16" and LayersGradient.fits(
        network, task.model, several_labels=task.data.several_labels
    )


def _by_triton(task: LearningTask, network: Network, device: torch.device) -> bool:
    """Return whether our kernels for GPUs know the model's layers, and the device is one that runs them."""
    if not has_triton(device):
        return False
    from edgefl.learning.learner.kernels.triton_gradient import TritonGradient  # late: no CPU needs Triton

    return TritonGradient.fits(network, task.model, several_labels=task.data.several_labels)


def _measured(task: LearningTask, network: Network, workers: Workers, inputs: ClientInputs) -> Plan:
    """Return the fastest plan on this machine, measured if it is not in the cache."""
    device = inputs.start.device
    kernels: list[Together] = ["vmap"]
    if _by_triton(task, network, device):
        kernels = ["triton", "vmap"]
    # Only what the rule may choose: a result names an engine and a width, and the rule finds its kernel again.
    elif _by_hand(task, network) and (device.type == "cpu" or not has_images(network.module)):
        kernels = ["layers", "vmap"]
    families = _families(task.training, kernels, device)
    limit_bytes = budget(device) / len(workers)  # all workers train cohorts at the same time
    if task.training.width is not None:
        limit_bytes = float("inf")  # a scenario that names a width gets it

    def attempt(plan: Plan) -> Trial:
        trial: Trial = workers.submit("attempt", partial(as_is, (plan, inputs)), as_is).result()
        return trial

    def measure() -> Plan:
        return fastest(families, attempt, limit_bytes)

    key = {**_machine(device), **_work(task, network, inputs)}
    possible = {plan for family in families for plan in family}
    return remembered(key, measure, possible)


def _families(training: Training, kernels: Sequence[Together], device: torch.device) -> list[list[Plan]]:
    """Return the plans to try, as `candidates` lists them."""
    families = candidates(kernels, device.type, serial=training.engine in {"auto", "measured"})
    if training.width is None:
        return families
    return [[replace(plans[0], width=training.width)] for plans in families if plans[0] != SERIAL]


def _machine(device: torch.device) -> dict[str, str]:
    """Return the part of the cache's key that is about the machine."""
    return {"edgefl": edgefl_version(), "torch": torch.__version__, "processor": processor(str(device))}


def _work(task: LearningTask, network: Network, inputs: ClientInputs) -> Mapping[str, str]:
    """Return the part of the cache's key that is about the model, the data and the algorithm."""
    training = task.training
    algorithm = type(task.algorithm).__name__
    if has_own_loss(task.algorithm):
        algorithm += " with its own loss"
    loss = {}
    if training.loss is not None:
        loss["loss"] = LOSSES.name_of(training.loss)
    return {
        **loss,
        "model": f"{network.module} {network.parameters.shapes}",
        "code": source(network.module),
        "data": f"{task.data.shape} {inputs.start.dtype}",
        "algorithm": algorithm,
        "training": f"{training.batch_size} {training.engine} {training.width} {training.precision} {training.graphs}",
    }


def source(module: nn.Module) -> str:
    """Return the source code of a module's class, which users may change under the same name; empty without a file."""
    try:
        return inspect.getsource(type(module))
    except (OSError, TypeError):
        return ""
