"""The trained model of one run as a file for other programs: safetensors, or ONNX."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.core.errors import InputError
from edgefl.core.extras import require
from edgefl.core.files import read_bytes
from edgefl.core.version import edgefl_version
from edgefl.results.reader import read_documents
from edgefl.results.report.sweep import is_sweep
from edgefl.results.run_folder import MODEL_FILE
from edgefl.results.saved_model import read_model, read_module


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Write the model of one result folder.

    Raises:
        InputError: several folders or a sweep are named, the run has no model, or torch cannot translate it.
    """
    if len(folders) > 1:
        raise InputError(f"export: --format {form} writes one model: name one result folder")
    folder = folders[0]
    if is_sweep(folder):
        raise InputError(f"{folder}: is a sweep's folder, which holds many models: name the folder of one run")
    documents = read_documents(folder)
    if form == "onnx":
        sink.write(_onnx(folder, documents.scenario))
        return
    read_model(folder)  # refuses a damaged file
    sink.write(read_bytes(folder / MODEL_FILE))


def _onnx(folder: Path, scenario: Mapping[str, Any]) -> bytes:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        require(package, "onnx", "export --format onnx")
    module, trained = read_module(folder, scenario)
    from edgefl.learning.learner.networks.as_onnx import onnx_bytes  # imports torch

    about = {"version": edgefl_version(), "scenario": str(scenario["name"]), "model": str(scenario["model"]["kind"])}
    return onnx_bytes(module, trained, about)
