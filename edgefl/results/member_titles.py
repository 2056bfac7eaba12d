"""Names of members of catalogues as textbooks write them: FedAvg for `fedavg`, CIFAR-10 for `cifar10`."""

import re
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from edgefl.core.catalogue import Catalogue

ACRONYMS = frozenset({"mlp", "fcn", "cnn", "din", "iid", "mcs", "tdl", "mse", "svhn", "umi", "inh"})
MOST_WORDS = 3  # of a name, such as Tiny ImageNet
_OUTSIDE = re.compile(r"^[^:\s]+:(?=[A-Za-z_])")  # before the class of a member from outside: my_nova:MyNova


@lru_cache(maxsize=1024)
def title(path: str, kind: str) -> str:
    """Return the name of the member `kind` at a dotted key, as the first line of its docstring writes it.

    A class from outside has the name of the class. A member whose docstring does not contain its name has the
    words of its key: ``best channel``.
    """
    if ":" in kind:
        return _OUTSIDE.sub("", kind)
    catalogue = catalogue_at(path)
    if catalogue is not None and kind in catalogue.members:
        written = _written(catalogue.summary(kind), kind)
        if written:
            return written
    words = [word.upper() if word in ACRONYMS else word for word in kind.split("_")]
    return " ".join(words)


@lru_cache(maxsize=1024)
def catalogue_at(path: str) -> Catalogue[Any] | None:
    """Return the catalogue whose members a dotted key of the scenario takes; None for any other key."""
    from edgefl.scenario.sections import Sections  # a report without labels needs none of it

    section: type[BaseModel] | None = Sections
    field: FieldInfo | None = None
    for key in path.split("."):
        if section is None or key not in section.model_fields:
            return None
        field = section.model_fields[key]
        section = next((part for part in _parts(field.annotation) if _is_section(part)), None)
    if field is None:
        return None
    metadata = list(field.metadata)
    for part in _parts(field.annotation):
        metadata += getattr(part, "__metadata__", ())
    return next((item for item in metadata if isinstance(item, Catalogue)), None)


def _parts(annotation: Any) -> list[Any]:
    """Return an annotation, and those that it is composed of: `Annotated[X, ...] | None` contains `X`."""
    parts = [annotation]
    for inner in get_args(annotation):
        parts += _parts(inner)
    return parts


def _is_section(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _written(summary: str, kind: str) -> str:
    """Return the words of a docstring that spell a kind, with their capitals; an empty text without any."""
    words = summary.split()
    wanted = _letters(kind)
    for first in range(len(words)):
        for count in range(1, MOST_WORDS + 1):
            text = " ".join(words[first : first + count])
            # "Dirichlet(alpha)," and "FedAvg:" name a member, too.
            name = re.split(r"[(:,;]", text.lstrip("("))[0].rstrip(".)")
            if _letters(name) != wanted:
                continue
            # A sentence begins with a capital, whatever its first word is.
            begins_sentence = first == 0 and not text.endswith(":")
            telling = name[1:] if begins_sentence else name
            if telling.lower() != telling or re.search(r"\d", telling):
                return name
    return ""


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()
