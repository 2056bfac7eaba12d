"""Arrays from Python: `edgefl.run({"data": {"dataset": edgefl.arrays(...)}})`."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import PrivateAttr, model_validator

from edgefl.core.errors import InputError
from edgefl.core.section import fault
from edgefl.learning.datasets.array_forms import as_arrays
from edgefl.learning.datasets.base import Array, Arrays, Data, Dataset
from edgefl.learning.datasets.own import NAMES, array_of, own_data


class ArraysDataset(Dataset):
    """Your own arrays, from Python: edgefl.arrays(train_x, train_y, test_x, test_y)."""

    only_in_python: ClassVar[bool] = True

    sha256: str = ""  # Hash of the arrays, in the order of their names, each with its shape and type.
    _data: Data = PrivateAttr()
    _clients: int | None = PrivateAttr(default=None)  # None: the arrays are of no clients

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

    def defaults(self) -> dict[str, Any]:
        """Return one device for each client, with the client's samples; nothing if the arrays are of no clients."""
        if self._clients is None:
            return {}
        return {"devices": {"count": self._clients}, "data": {"partition": {"kind": "natural"}}}

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
    weight: npt.ArrayLike | None = None,
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
        weight: [n] of each training sample in its mini-batch's mean loss.

    Raises:
        InputError: they are not samples and labels.
    """
    given = {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y}
    more = {"classes": classes, "mean": mean, "std": std, "owner": owner, "test_owner": test_owner}
    more |= {"ignore_index": ignore_index, "weight": weight}
    return _dataset({**given, **more}, "edgefl.arrays")


def client_arrays(
    clients: Sequence[Sequence[npt.ArrayLike]],
    test_x: npt.ArrayLike | None = None,
    test_y: npt.ArrayLike | None = None,
    *,
    classes: int | None = None,
    mean: npt.ArrayLike | None = None,
    std: npt.ArrayLike | None = None,
    ignore_index: int | None = None,
) -> ArraysDataset:
    """Return a dataset of each client's own arrays, for the key `data.dataset` of a scenario in Python.

    Unless the scenario says otherwise, there is a device for each client, and it holds the client's samples.

    Args:
        clients: (x, y) of each client, in the forms of `edgefl.arrays`, or its (x, y, test_x, test_y). In the second
            case all test samples together are the test set, and `data.test_partition` gives each device its own.
        test_x: samples [m, ...] for testing, if the clients have none of their own.
        test_y: their labels.
        classes: as of `edgefl.arrays`; so are mean, std and ignore_index, which hold for all clients.
        mean: of standardisation.
        std: its standard deviation.
        ignore_index: another label of tokens or pixels that do not count.

    Raises:
        InputError: they are not samples and labels, or those of the clients differ in kind.
    """
    where = "edgefl.client_arrays"
    found = _joined(clients, where)
    for name, value in (("test_x", test_x), ("test_y", test_y)):
        if value is not None and name in found:
            raise InputError(f"{where}: {name} excludes test samples of the clients: leave one of them out")
        found.setdefault(name, value)
    more = {"classes": classes, "mean": mean, "std": std, "ignore_index": ignore_index}
    dataset = _dataset({**found, **more}, where)
    dataset._clients = len(clients)  # noqa: SLF001 - its own class's
    return dataset


def _dataset(found: Arrays, where: str) -> ArraysDataset:
    data = own_data(found, where, "give it classes={}")
    dataset = ArraysDataset.model_construct(path=None, sha256=data.digest)
    dataset._data = data  # noqa: SLF001 - its own class's
    return dataset


def _joined(clients: Any, where: str) -> Arrays:
    """Return the arrays of all clients, client after client, and the number of the client that owns each sample."""
    if not isinstance(clients, list | tuple) or not clients:
        remedy = ": say list(clients.values())" if isinstance(clients, dict) else ""
        text = f"clients must be a list with (x, y) of each client, got a {type(clients).__name__}"
        raise InputError(f"{where}: {text}{remedy}")
    of_clients = [_of_client(client, number, f"{where}: clients[{number}]") for number, client in enumerate(clients)]
    found = {}
    for name in max(of_clients, key=len):
        joined: list[Array] = []
        for number, own in enumerate(of_clients):
            if name not in own:
                raise InputError(f"{where}: clients[{number}] lacks {name}, which others have: give it to all or none")
            array = own[name]
            if not len(array):
                continue
            if joined and (array.dtype.kind, array.shape[1:]) != (joined[0].dtype.kind, joined[0].shape[1:]):
                kinds = f"{array.dtype} {list(array.shape)} after {joined[0].dtype} {list(joined[0].shape)}"
                raise InputError(f"{where}: clients[{number}]: {name} must be of one kind at all clients, got {kinds}")
            joined.append(array)
        found[name] = np.concatenate(joined or [array])
    return found


def _of_client(client: Any, number: int, where: str) -> Arrays:
    """Return a client's arrays by their names in a dataset, and the number of their owner for each sample."""
    if not isinstance(client, list | tuple) or len(client) not in (2, 4):
        raise InputError(
            f"{where} must be (x, y) or (x, y, test_x, test_y), got a {type(client).__name__}{as_arrays(client)}"
        )
    own = {name: array_of(value, name, where) for name, value in zip(NAMES, client, strict=False)}
    for part, owner in (("train", "owner"), ("test", "test_owner"))[: len(client) // 2]:
        x = own[f"{part}_x"]
        y = own[f"{part}_y"]
        if x.ndim == 0 or x.shape[:1] != y.shape[:1]:
            text = f"{part}_y must have one label for each sample of {part}_x"
            raise InputError(f"{where}: {text}, got {list(y.shape)} and {list(x.shape)}")
        own[owner] = np.full(len(y), number)
    if not len(own["train_y"]):
        raise InputError(f"{where} has no training samples: leave the client out")
    return own
