"""A user's loader: `dataset: my_module:my_function`."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo

from edgefl.core.errors import InputError
from edgefl.core.plugins import Plugin, located
from edgefl.core.section import fault
from edgefl.learning.datasets.array_forms import as_four
from edgefl.learning.datasets.base import Data, Dataset
from edgefl.learning.datasets.own import NAMES, from_data, own_data


class Loaded(Dataset):
    """A user's function that returns arrays, by its import path; its arguments are the dataset's keys."""

    model_config = ConfigDict(extra="allow")  # keys that are not known here are the function's

    import_path: str = Field(exclude=True)
    _function: Callable[..., Any] = PrivateAttr()

    def made_from(self) -> Callable[..., Any]:
        """Return the function."""
        return self._function

    def load(self) -> Data:
        """Call the function, and return its arrays as a dataset.

        Raises:
            InputError: it raises an exception, or returns something else.
        """
        keys = dict(self.model_extra or {})
        if self.path is not None:
            keys["path"] = self.path
        where = f"data.dataset: {self.import_path}"
        try:
            found = self._function(**keys)
        except InputError:
            raise
        except Exception as error:
            plugin = Plugin("data.dataset", self.import_path, self._function)
            raise InputError(located(error, [plugin]) or f"{where}: {type(error).__name__}: {error}") from error
        if isinstance(found, Data):
            return from_data(found, where)
        if hasattr(found, "_asdict"):  # a NamedTuple
            found = found._asdict()
        if isinstance(found, tuple | list) and len(found) == len(NAMES):
            found = dict(zip(NAMES, found, strict=True))
        if not isinstance(found, Mapping):
            got = type(found).__name__
            if isinstance(found, tuple | list):
                got = f"{got} of {len(found)}"
            text = f"must return ({', '.join(NAMES)}), or a mapping with these names, got a {got}"
            raise InputError(f"{where}: {text}{as_four(found)}")
        return own_data(found, where)


def imported(path: str, found: Any, keys: dict[str, Any], info: ValidationInfo) -> Dataset | None:
    """Return a dataset that wraps a function; None for anything else. Nothing is called; raises pydantic's errors."""
    if not callable(found) or inspect.isclass(found) or not hasattr(found, "__qualname__"):
        return None
    given = {key: value for key, value in keys.items() if value is not None or key not in Dataset.model_fields}
    # Tried without being called, so that a missing or unknown key is a fault of the scenario, with its line.
    try:
        inspect.signature(found).bind(**given)
    except TypeError as error:
        raise fault(f"{path} takes other keys: {error}") from None
    dataset = Loaded.model_validate({**keys, "import_path": path}, context=info.context)
    dataset._function = found  # noqa: SLF001 - its own class's
    return dataset
