"""Arrays from Python: `edgefl.run({"data": {"dataset": edgefl.arrays(...)}})`."""

from typing import Any, ClassVar

import numpy.typing as npt
from pydantic import PrivateAttr, model_validator

from edgefl.core.section import fault
from edgefl.learning.datasets.base import Data, Dataset
from edgefl.learning.datasets.own import own_data


class ArraysDataset(Dataset):
    """Your own arrays, from Python: edgefl.arrays(train_x, train_y, test_x, test_y)."""

    only_in_python: ClassVar[bool] = True

    sha256: str = ""  # Hash of the arrays, in the order of their names, each with its shape and type.
    _data: Data = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _refuse_files(cls, value: Any) -> Any:
        """Refuse to be read from a file: `arrays` makes members without any validation."""
        digest = ""
        if isinstance(value, dict) and value.get("sha256"):
            digest = f" (sha256 {value['sha256']})"
        text = "these arrays came from Python, and no file holds them"
        remedy = "run from Python with edgefl.arrays(...), or save them with numpy.savez and write dataset: npz"
        raise fault(f"{text}{digest}: {remedy}")

    def load(self) -> Data:
        """Return the arrays."""
        return self._data


def arrays(
    train_x: npt.ArrayLike,
    train_y: npt.ArrayLike,
    test_x: npt.ArrayLike,
    test_y: npt.ArrayLike,
    *,
    classes: int | None = None,
    mean: npt.ArrayLike | None = None,
    std: npt.ArrayLike | None = None,
    owner: npt.ArrayLike | None = None,
    test_owner: npt.ArrayLike | None = None,
    ignore_index: int | None = None,
) -> ArraysDataset:
    """Return a dataset of your own arrays, for the key `data.dataset` of a scenario in Python.

    Args:
        train_x: samples [n, ...]: uint8, floating point, or int64 token ids.
        train_y: labels [n]: classes from 0 to K-1, or the numbers [n] or [n, k] of a regression as floating point; or
            classes [n, T] or [n, H, W] of each token or pixel, -100 where none counts.
        test_x: samples [m, ...] for testing.
        test_y: their labels.
        classes: K; one more than the highest label if not given.
        mean: of standardisation, in the units of the samples; one for all, or one for each channel.
        std: its standard deviation; by default bytes are standardised over all training values, and no other numbers.
        owner: [n] owner of each training sample, from 0, for the partition `natural`.
        test_owner: [m] owner of each test sample.
        ignore_index: another label of tokens or pixels that do not count, such as 255.

    Raises:
        InputError: they are not samples and labels.
    """
    given = {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y}
    more = {"classes": classes, "mean": mean, "std": std, "owner": owner, "test_owner": test_owner}
    more["ignore_index"] = ignore_index
    data = own_data({**given, **more}, "edgefl.arrays", "give it classes={}")
    dataset = ArraysDataset.model_construct(path=None, sha256=data.digest)
    dataset._data = data  # noqa: SLF001 - its own class's
    return dataset
