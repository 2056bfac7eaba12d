"""The trained model of one run as a file for other programs: safetensors."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.results.reader import read_documents
from edgefl.results.report.sweep import is_sweep
from edgefl.results.run_folder import MODEL_FILE
from edgefl.results.saved_model import read_model


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Write the model of one result folder.

    Raises:
        InputError: several folders or a sweep are named, or the run has no model.
    """
    if len(folders) > 1:
        raise InputError(f"export: --format {form} writes one model: name one result folder")
    folder = folders[0]
    if is_sweep(folder):
        raise InputError(f"{folder}: is a sweep's folder, which holds many models: name the folder of one run")
    read_documents(folder)  # refuses what is not a result folder
    read_model(folder)  # refuses a damaged file
    sink.write(read_bytes(folder / MODEL_FILE))
