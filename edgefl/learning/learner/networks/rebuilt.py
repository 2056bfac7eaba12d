"""The module of a trained model, for use outside of a run."""

import torch
from torch import Tensor, nn

from edgefl.core.errors import InputError
from edgefl.learning.models import Model
from edgefl.learning.models.parted import in_parts
from edgefl.learning.trained_model import TrainedModel


def rebuilt(model: Model, trained: TrainedModel) -> nn.Module:
    """Return the module of a trained model in evaluation mode, on the CPU.

    It gives the same outputs as evaluations in the run: [B, classes] for normalised samples [B, *sample_shape]. Raises
    an InputError if the module has other tensors, such as when its code has changed since the run.
    """
    # The initial values are overwritten below: drawing them must not move torch's own generator.
    with torch.random.fork_rng(devices=[]):
        try:
            module = in_parts(model, None).module(trained.sample_shape, trained.classes)
        except Exception as error:  # noqa: BLE001 - an own model's code may raise anything
            raise InputError(f"model: its module cannot be made any more: {type(error).__name__}: {error}") from None
    tensors = {name: torch.tensor(array) for name, array in trained.tensors.items()}
    module = module.to(tensors[trained.parameters[0]].dtype)
    unsaved = {name: buffer for name, buffer in module.named_buffers() if name in tensors}  # `persistent=False`
    state = {**unsaved, **module.state_dict()}
    own = {name: value.shape for name, value in state.items() if isinstance(value, Tensor)}
    wanted = {name: tensor.shape for name, tensor in tensors.items()}
    different = sorted(name for name in own.keys() | wanted.keys() if own.get(name) != wanted.get(name))
    if different:
        raise InputError(
            f"model: the trained model does not fit the module that model.kind makes now: {different[0]} is "
            f"{_described(wanted.get(different[0]))} in the results, {_described(own.get(different[0]))} in the module"
        )
    module.load_state_dict(tensors, strict=False)  # not strict: extra state that is not a tensor is not saved
    for name, buffer in unsaved.items():  # those that a state dict has are there already
        buffer.copy_(tensors[name])
    return module.eval()


def _described(shape: torch.Size | None) -> str:
    return "missing" if shape is None else f"of shape {list(shape)}"
