"""The trained model in a result folder."""

from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.learning.trained_model import TrainedModel
from edgefl.results.integrity import check_file
from edgefl.results.run_folder import MODEL_FILE


def read_model(folder: Path, name: str = MODEL_FILE) -> TrainedModel:
    """Return the tensors of the final model, or of the best one (`name` is `BEST_MODEL_FILE`).

    Raises:
        InputError: the folder has no such model, or the file is damaged.
    """
    path = folder / name
    if not path.exists():
        if name == MODEL_FILE:
            raise no_model(str(folder))
        raise no_best_model(str(folder))
    check_file(folder, name)
    try:
        return TrainedModel.from_bytes(read_bytes(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def no_model(run: str) -> InputError:
    """Return the error about a run without a model."""
    return InputError(f"{run}: has no model, as nothing was learned")


def no_best_model(run: str) -> InputError:
    """Return the error about a run that has not kept its best model."""
    return InputError(f"{run}: has no best model: run it again with report.best_model: true, and with learning")
