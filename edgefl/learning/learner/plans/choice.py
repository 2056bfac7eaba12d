"""The choice of a training plan: by rule, or as the scenario says."""

import logging
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from edgefl.core.errors import InputError, RunError
from edgefl.learning.learner.calls import Workers, as_is
from edgefl.learning.learner.client_inputs import ClientInputs
from edgefl.learning.learner.kernels.layers import has_images
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.kernels.triton_availability import has_triton
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, CannotBatchError, Plan
from edgefl.learning.learner.plans.rule import Work, plan_by_rule
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.torch_device import gpu_bytes
from edgefl.learning.training_engines import AUTO, ENGINES, without_auto
from edgefl.learning.training_section import Training

log = logging.getLogger("edgefl")


def choose_plan(task: LearningTask, network: Network, workers: Workers, inputs: ClientInputs) -> Plan:
    """Return the plan for the training of clients; a worker tries plans on the first inputs of one client.

    Raises:
        InputError: the scenario trains clients together, and the model cannot be batched.
        RunError: the memory is too small.
    """
    engine = without_auto(task.training.engine)
    row = ENGINES[engine]
    if not row.together:
        return Plan(row.module, "autograd", 1)
    try:
        if task.model.loss.whole_batches:
            return _for_whole_batches(task.training)
        return _by_rule(task, network, workers, inputs)
    except MemoryError:
        count = task.training.width or 1
        raise RunError(
            f"the memory of {inputs.start.device} is too small to train {count} of the clients together: "
            "use a smaller training.batch_size or a smaller model"
        ) from None
    except CannotBatchError as error:
        raise InputError(f"training.engine: {engine}: the model cannot be batched ({error}); use serial") from None


def _for_whole_batches(training: Training) -> Plan:
    # Stacked mini-batches of several clients are filled up to one size with samples that do not count.
    if training.engine != AUTO:
        raise CannotBatchError("its loss is of whole mini-batches")
    return SERIAL


def _by_rule(task: LearningTask, network: Network, workers: Workers, inputs: ClientInputs) -> Plan:
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
            if task.training.engine != AUTO or task.training.width is not None:
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
    return replace(plan_by_rule(without_auto(training.engine), work, memory_bytes), width=training.width)


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
    if not has_triton(device):
        return False
    from edgefl.learning.learner.kernels.triton_gradient import TritonGradient  # late: no CPU needs Triton

    return TritonGradient.fits(network, task.model, several_labels=task.data.several_labels)
