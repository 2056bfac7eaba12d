"""Catalogues: the visible tables of contents of algorithms, datasets, models and the rest.

A member is a frozen pydantic class in a file of its own. Its fields are its hyper-parameters and its YAML keys, and the
first line of its docstring says what it is and names its source. A catalogue maps names to members, and imports a
member only when it is asked for. To add one: a file, a line in the package's `__init__.py`, a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from edgefl.core.section import Section, fault, nearest, shown


class Member(Section):
    """Base class of everything that a catalogue lists."""

    listed_as: ClassVar[type[Member] | None] = None  # the class in the catalogue, if a key of it chooses this variant


M = TypeVar("M", bound=Member)


class Catalogue(Generic[M]):
    """A mapping of names to members, and the pydantic type of a key that holds one: `Annotated[Base, CATALOGUE]`.

    Args:
        noun: what a member is called in messages.
        members: name -> "module:Class".
        importer: path "module:function" of a function that makes a member from a user's own "module:Class" and its
            keys; None: users' own classes are refused.
    """

    def __init__(self, noun: str, members: Mapping[str, str], importer: str | None = None) -> None:
        self.noun = noun
        self.members = dict(members)
        self.importer = importer

    def load(self, name: str) -> type[M]:
        """Return the class behind a name.

        Raises:
            KeyError: no such member.
        """
        member: type[M] = _import_object(self.members[name])
        return member

    def name_of(self, member: M) -> str:
        """Return the name under which a member's class is listed, or the path from which it was imported."""
        listed_class = member.listed_as or type(member)
        path = f"{listed_class.__module__}:{listed_class.__qualname__}"
        for name, target in self.members.items():
            if target == path:
                return name
        return str(getattr(member, "import_path", path))

    def summary(self, name: str) -> str:
        """Return the first line of the member's docstring: what it is and where it comes from."""
        docstring = self.load(name).__doc__ or ""
        return docstring.strip().partition("\n")[0]

    def names_where(self, suits: Callable[[M], bool]) -> str:
        """Return the names of the members that are suitable with their default keys, such as "a, b or c"."""
        names = [name for name in self.members if suits(self.load(name)())]
        if len(names) == 1:
            return names[0]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    def parse(self, value: Any, info: ValidationInfo) -> M:
        """Return the member that `name` or `{kind: name, key: value, ...}` describes; raise pydantic's errors."""
        if isinstance(value, Member):
            return value  # type: ignore[return-value]  # made in Python; pydantic cannot know of which catalogue
        fields = {"kind": value} if isinstance(value, str) else value
        if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str):
            known = ", ".join(self.members)
            raise fault(f"must be a name or {{kind: name, ...}}, got {shown(value)}; known: {known}")
        name = fields["kind"]
        keys = {key: item for key, item in fields.items() if key != "kind"}
        if self.importer and ":" in name:
            make_member = _import_object(self.importer)
            member: M = make_member(name, keys, info)
            return member
        if name not in self.members:
            known = ", ".join(self.members)
            raise fault(f'unknown {self.noun} "{name}"{nearest(name, self.members)}; known: {known}')
        return self.load(name).model_validate(keys, context=info.context)

    def dump(self, member: M) -> dict[str, Any]:
        """Return the member in the form that `parse` reads."""
        return {"kind": self.name_of(member), **member.model_dump(mode="json")}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(self.dump)
        return core_schema.with_info_plain_validator_function(self.parse, serialization=serialization)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        choices: list[JsonSchemaValue] = [{"enum": list(self.members)}]
        for name in self.members:
            member = dict(handler.resolve_ref_schema(handler(self.load(name).__pydantic_core_schema__)))
            member["properties"] = {"kind": {"const": name}, **member.get("properties", {})}
            member["required"] = ["kind", *member.get("required", [])]
            choices.append(member)
        if self.importer:
            path = {"type": "string", "pattern": "^[^:]+:[^:]+$"}
            choices.append(path)
            choices.append({"type": "object", "properties": {"kind": path}, "required": ["kind"]})
        return {"anyOf": choices}


def _import_object(path: str) -> Any:
    """Return the object at "module:name"."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
