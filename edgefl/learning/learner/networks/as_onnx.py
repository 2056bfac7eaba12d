"""A trained module in ONNX, the format of inference engines on phones, browsers and servers."""

import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import numpy as np
import torch
from torch import nn

from edgefl.core.errors import InputError
from edgefl.learning.trained_model import METADATA_KEY, TrainedModel

TRIED_SIZES = (1, 3, 32)  # samples, other numbers than the exporter sees
MOST_OFF = 1e-3  # of the largest output; engines round in other places
FATAL = 4  # of ONNX Runtime's levels
TWO_SAMPLES = 2  # the exporter would take a batch of one for a constant
LARGEST_BYTES = 2**31 - 1  # of a protocol buffer


def onnx_bytes(module: nn.Module, trained: TrainedModel, about: Mapping[str, str]) -> bytes:
    """Return a module in evaluation mode as ONNX: from `samples` [batch, *sample_shape] to `outputs`, for any batch.

    The file's metadata have the texts `about` and the normalisation of the samples.

    Raises:
        InputError: torch's exporter cannot translate the module.
    """
    example = torch.zeros(TWO_SAMPLES, *trained.sample_shape, dtype=getattr(torch, trained.sample_dtype))
    try:
        with _quiet():
            program = torch.onnx.export(
                module,
                (example,),
                dynamo=True,
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                # A tensor of the module may have the name of an input, which would then be taken for it.
                input_names=[_free_name("samples", trained)],
                output_names=[_free_name("outputs", trained)],
                verbose=False,
            )
    except Exception as error:  # noqa: BLE001 - the exporter's own errors have no common base
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise InputError(f"export: --format onnx: torch cannot translate this model: {reason}") from None
    if program is None:  # torch's type allows it, for other exporters
        raise InputError("export: --format onnx: torch has translated nothing")
    model = program.model_proto
    notes = {**about, "mean": trained.mean, "std": trained.std, "classes": trained.classes}
    model.metadata_props.add(key=METADATA_KEY, value=json.dumps(notes))
    if model.ByteSize() > LARGEST_BYTES:
        raise InputError("export: --format onnx: the model is larger than 2 GB: use --format safetensors")
    content = bytes(model.SerializeToString(deterministic=True))
    _try(content, module, trained)
    return content


def _try(content: bytes, module: nn.Module, trained: TrainedModel) -> None:
    """Check that a file's graph gives the outputs of the module, for several sizes of a batch.

    The exporter follows one call of the module. What depended on that call, such as the size of the batch or a branch,
    is a constant of the graph; random draws are not.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(FATAL)  # one line below tells what is wrong
    failed = "export: --format onnx: the graph that torch has made of this model"
    generator = torch.Generator().manual_seed(1)
    for size in TRIED_SIZES:
        shape = (size, *trained.sample_shape)
        dtype = getattr(torch, trained.sample_dtype)
        if dtype.is_floating_point:
            samples = torch.randn(shape, generator=generator, dtype=dtype)
        else:
            samples = torch.randint(2, shape, generator=generator, dtype=dtype)  # ids that every vocabulary has
        with torch.no_grad():
            expected = module(samples).numpy()
        try:
            session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
            (found,) = session.run(None, {session.get_inputs()[0].name: samples.numpy()})
        except Exception as error:  # noqa: BLE001 - the engine's own errors have no common base
            reason = str(error).strip().partition("\n")[0]
            raise InputError(f"{failed} does not take a batch of {size}: {reason}") from None
        largest = np.abs(expected).max(initial=0.0)
        if found.shape != expected.shape or not np.allclose(found, expected, 0.0, MOST_OFF * largest, equal_nan=True):
            text = "a forward pass must not draw, nor depend on the size of the batch or on earlier calls"
            raise InputError(f"{failed} gives other outputs for a batch of {size} than the model itself: {text}")


def _free_name(name: str, trained: TrainedModel) -> str:
    while name in trained.tensors:
        name += "_"
    return name


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter from warning, logging and printing: its messages do not concern the user's model."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(printed), redirect_stderr(printed):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
