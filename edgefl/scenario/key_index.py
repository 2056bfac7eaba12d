"""All keys of a scenario by their dotted names: where each stands, and the class that declares it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from edgefl.core.catalogue import Catalogue, Member
from edgefl.core.distributions import Distribution
from edgefl.core.section import Section
from edgefl.scenario.sections import Sections

DATASET = "data.dataset"  # the member whose keys stand beside it


class Part(NamedTuple):
    """A section within a section: the dotted key that holds it, and its class."""

    key: str
    section: type[Section]


class Key(NamedTuple):
    """A key of a scenario."""

    dotted: str  # without numbers of list entries
    owner: type[BaseModel]  # the section or member that declares it
    kind: str = ""  # of the catalogue, if a member declares it
    member: str = ""  # the name of that member

    @property
    def leaf(self) -> str:
        """The last part of its dotted name, which is the name of its field."""
        return self.dotted.rpartition(".")[2]

    @property
    def field(self) -> FieldInfo:
        """Its field in the class that declares it."""
        return self.owner.model_fields[self.leaf]


@cache
def keys_of_sections() -> Mapping[str, Key]:
    """Return the keys of all sections by their dotted names, in the order of the file; those of members are missing."""
    found: dict[str, Key] = {}
    _add_keys(found, Sections, "", ())
    return found


@cache
def keys_of_members() -> Mapping[str, Sequence[Key]]:
    """Return the keys of all members of catalogues by their dotted names; several members may have a key."""
    found: dict[str, list[Key]] = {}
    for place, catalogue in places().items():
        for name in catalogue.members:
            cls = catalogue.load(name)
            own: dict[str, Key] = {}
            _add_keys(own, cls, "data" if place == DATASET else place, ())
            for key in own.values():
                found.setdefault(key.dotted, []).append(key._replace(kind=catalogue.kind, member=name))
    return found


@cache
def places() -> Mapping[str, Catalogue[Any]]:
    """Return the catalogues by the dotted keys that hold their members; of several such keys only the first counts."""
    found: dict[str, Catalogue[Any]] = {}
    for dotted, key in keys_of_sections().items():
        catalogue = catalogue_of(key.field)
        if catalogue is not None and catalogue not in found.values():
            found[dotted] = catalogue
    return found


def _add_keys(found: dict[str, Key], cls: type[BaseModel], place: str, inherited: Sequence[str]) -> None:
    """Add the keys of a class, and behind each those of the sections in it, except inherited ones."""
    for name, field in cls.model_fields.items():
        if field.exclude or name in inherited:
            continue
        key = joined(place, name)
        found.setdefault(key, Key(key, cls))
        for section in sections_in(field):
            _add_keys(found, section, key, inherited_keys(cls, section))


def parts_of(cls: type[BaseModel], place: str) -> list[Part]:
    """Return the sections in the keys of a class."""
    found: list[Part] = []
    for name, field in cls.model_fields.items():
        found += [Part(joined(place, name), section) for section in sections_in(field)]
    return found


def inherited_keys(outer: type[BaseModel] | None, inner: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys that an inner section inherits from a base class of the outer one."""
    if outer is None:
        return ()
    for base in inner.__mro__:
        if base is not Section and issubclass(base, Section) and base in outer.__mro__:
            return tuple(base.model_fields)
    return ()


def catalogue_of(field: FieldInfo) -> Catalogue[Any] | None:
    """Return the catalogue whose members a field takes, if any."""
    return next((found for found in walk(field) if isinstance(found, Catalogue)), None)


def sections_in(field: FieldInfo) -> list[type[Section]]:
    """Return the sections in the type of a field."""
    found = []
    for item in walk(field):
        is_section = isinstance(item, type) and issubclass(item, Section)
        if is_section and not issubclass(item, Member | Distribution):
            found.append(item)
    return list(dict.fromkeys(found))


def walk(field: FieldInfo) -> Iterator[Any]:
    """Yield the classes and catalogues in a field's type."""
    yield from _inside(field.annotation)
    yield from field.metadata


def _inside(annotation: Any) -> Iterator[Any]:
    yield annotation
    # The arguments of `Annotated` include its metadata, such as catalogues and bounds.
    for part in get_args(annotation):
        yield from _inside(part)


def joined(place: str, name: str) -> str:
    """Return the dotted name of a key in a place; an empty place is the top of the file."""
    return f"{place}.{name}" if place else name
