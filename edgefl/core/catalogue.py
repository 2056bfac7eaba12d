"""Catalogues: the visible tables of contents of algorithms, datasets, models and the rest.

A member is a frozen pydantic class in a file of its own; its fields are its hyper-parameters and its YAML keys, the
first line of its docstring names its source. A catalogue maps names to members and imports one when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from edgefl.core.section import Section, fault, nearest, shown


class Member(Section):
    """One entry of a catalogue."""


M = TypeVar("M", bound=Member)


class Catalogue(Generic[M]):
    """Names to members; also the pydantic type of a scenario key that holds one (`Annotated[Base, CATALOGUE]`).

    Args:
        noun: what a member is called in messages.
        members: name -> "module:Class".
        importer: "module:function" that makes a member of a user's own "module:Class" and its keys; none: refused.
    """

    def __init__(self, noun: str, members: Mapping[str, str], importer: str | None = None) -> None:
        self.noun = noun
        self.members = dict(members)
        self.importer = importer

    def load(self, name: str) -> type[M]:
        """The class behind a name.

        Raises:
            KeyError: no such member.
        """
        member: type[M] = _at(self.members[name])
        return member

    def name_of(self, member: M) -> str:
        """The name under which a member's class is listed, or the path from which it was imported."""
        path = f"{type(member).__module__}:{type(member).__qualname__}"
        listed = (name for name, target in self.members.items() if target == path)
        return next(listed, str(getattr(member, "import_path", path)))

    def summary(self, name: str) -> str:
        """The member's docstring line: what it is and where it comes from."""
        return (self.load(name).__doc__ or "").strip().partition("\n")[0]

    def those(self, suit: Callable[[M], bool]) -> str:
        """The names of the members that, with their defaults, suit: "a, b or c"."""
        *names, last = (name for name in self.members if suit(self.load(name)()))
        return f"{', '.join(names)} or {last}" if names else last

    def parse(self, value: Any, info: ValidationInfo) -> M:
        """Make a member of `name` or `{kind: name, key: value, ...}`; raises pydantic's errors."""
        if isinstance(value, Member):
            return value  # type: ignore[return-value]
        fields = {"kind": value} if isinstance(value, str) else value
        if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str):
            known = ", ".join(self.members)
            raise fault(f"must be a name or {{kind: name, ...}}, got {shown(value)}; known: {known}")
        name = fields["kind"]
        rest = {key: item for key, item in fields.items() if key != "kind"}
        if self.importer and ":" in name:
            member: M = _at(self.importer)(name, rest, info)
            return member
        if name not in self.members:
            hint, known = nearest(name, self.members), ", ".join(self.members)
            raise fault(f'unknown {self.noun} "{name}"{hint}; known: {known}')
        return self.load(name).model_validate(rest, context=info.context)

    def dump(self, member: M) -> dict[str, Any]:
        """The inverse of `parse`."""
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
            choices += [path, {"type": "object", "properties": {"kind": path}, "required": ["kind"]}]
        return {"anyOf": choices}


def _at(path: str) -> Any:
    """What stands at "module:name"."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
