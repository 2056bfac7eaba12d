"""Catalogues: the tables of contents of algorithms, datasets, models and the rest.

A member is a frozen pydantic class in its own file. Its fields are its hyper-parameters and its YAML keys, and the
first line of its docstring describes it and names its source. A catalogue maps names to members, and imports a member
when it is first used. A new member is a file, a line in the package's `members.csv`, and a test. A class from outside
the package can be a member, too: `kind: my_package.my_module:MyClass` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticSerializationError, core_schema

from edgefl.core import plugins
from edgefl.core.plugin_import import NotImported, access_of, check_allowed, check_path, imported, is_own
from edgefl.core.plugins import Plugin
from edgefl.core.section import KeyPath, Section, dotted, fault, nearest, shown
from edgefl.core.words import table_of

PATH_PATTERN = r"^[^:\s]+:[^:\s]+$"  # "package.module:Class", in the JSON Schema


class Member(Section):
    """Base class of everything that a catalogue lists."""

    listed_as: ClassVar[type[Member] | None] = None  # the class in the catalogue, if one of its keys selects this one

    def made_from(self) -> Any:
        """Return the definition that a scenario names for this member: its class, or what an adapter has wrapped."""
        return type(self)


class Unknown(Member):
    """Stands for a member from outside that was not imported; its attributes raise `NotImported`."""

    model_config = ConfigDict(extra="allow")  # its keys are unknown

    import_path: str  # where the member comes from, as package.module:Class

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImported(self.import_path)


M = TypeVar("M", bound=Member)
S = TypeVar("S", bound=Section)


def where_known(check: Callable[[S], S]) -> Callable[[S], S]:
    """Let a section's validator pass if it needs a member that was not imported."""

    @wraps(check)
    def passing(section: S) -> S:
        try:
            return check(section)
        except NotImported:
            return section

    return passing


def members_of(package: str) -> dict[str, str]:
    """Return "module:Class" by name from the table `members.csv` of a package, whose `__file__` is given."""
    return {row["name"]: row["class"] for row in table_of(package, "members.csv")}


class Adapter(NamedTuple):
    """Makes members of definitions from outside that are not subclasses of a catalogue's base class."""

    what: str  # as messages name it: "a torch.nn.Module"
    function: str
    """"module:function" of a function of (path, found, keys, info).

    It returns a member that wraps the definition `found` at a path, given the keys beside `kind`, or None if it does
    not fit. It raises pydantic's errors about the keys, and calls nothing from outside. The member's `made_from`
    returns the definition, and its field `import_path` the path.
    """


class Catalogue(Generic[M]):
    """A mapping of names to members, and the pydantic type of a key that holds one: `Annotated[Base, CATALOGUE]`.

    Args:
        noun: the word for a member in messages.
        members: "module:Class" by name.
        base: the base class of all members.
        kind: the word of `edgefl list` for the members; plug-ins are installed as entry points of edgefl.<kind>.
        adapter: makes members of other definitions from outside; None: there are none.
        elsewhere: what to write instead of names that belong to another catalogue, by name.
        unlisted: "module:Class" of members without a name, which stand in results.
    """

    def __init__(
        self,
        *,
        noun: str,
        members: Mapping[str, str],
        base: type[M],
        kind: str,
        adapter: Adapter | None = None,
        elsewhere: Mapping[str, str] | None = None,
        unlisted: Sequence[str] = (),
    ) -> None:
        self.noun = noun
        self.members = dict(members)
        self.base = base
        self.kind = kind
        self.adapter = adapter
        self.elsewhere = dict(elsewhere or {})
        self.unlisted = tuple(unlisted)

    def load(self, name: str) -> type[M]:
        """Return the class of a name.

        Raises:
            KeyError: there is no such member.
        """
        member: type[M] = _import_object(self.members[name])
        return member

    def name_of(self, member: M) -> str:
        """Return the name of a member's class in the catalogue, or the path that it was imported from."""
        own = type(member)
        listed_class: type[Member] = own
        # A class from outside that is derived from a variant is a class of its own.
        if member.listed_as is not None and not plugins.is_outside(own):
            listed_class = member.listed_as
        path = plugins.path_of(listed_class)
        for name, target in self.members.items():
            if target == path:
                return name
        return str(getattr(member, "import_path", path))

    def summary(self, name: str) -> str:
        """Return the first line of a member's docstring, with its source."""
        docstring = self.load(name).__doc__ or ""
        return docstring.strip().partition("\n")[0]

    def names_where(self, suits: Callable[[M], bool]) -> str:
        """Return the names of the members that suit with their default keys, such as "a, b or c"."""
        names = [name for name in self.members if suits(self.load(name)())]
        if len(names) == 1:
            return names[0]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    def parse(self, value: Any, info: ValidationInfo) -> M:
        """Return the member of `name` or `{kind: name, key: value, ...}`; raise pydantic's errors.

        The value may be a member made in Python, and the name may be "package.module:Class", or the class itself.
        """
        if isinstance(value, self.base):
            if plugins.is_outside(type(value)):
                access_of(info.context).used.append(Plugin(self.noun, self.name_of(value), type(value)))
            _check_written(value)
            return value
        fields = value
        if isinstance(value, str) or self._is_definition(value):
            fields = {"kind": value}
        if not isinstance(fields, dict) or not self._can_be_kind(fields.get("kind")):
            known = ", ".join(self.members)
            got = shown(value)
            if callable(value):
                got = f"an object of {type(value).__name__}"
            text = f"must be a name or {{kind: name, ...}}, got {got}"
            raise fault(f"{text}{self._instead(value)}; known: {known}")
        name = fields["kind"]
        keys = {key: item for key, item in fields.items() if key != "kind"}
        if not isinstance(name, str):
            return self._member(plugins.path_of(name), name, keys, info)
        if name in self.members:
            return self.load(name).model_validate(keys, context=info.context)
        path = name if ":" in name else self._installed_path(name)
        if is_own(path):
            return self._own(path).model_validate(keys, context=info.context)
        return self._from_outside(name, path, keys, info)

    def _is_definition(self, value: Any) -> bool:
        """Return whether a value is a class or function from Python that may become a member."""
        # A callable object, such as a network that has been made, has no name to make it again by.
        named = callable(value) and hasattr(value, "__qualname__")
        return isinstance(value, type) or (self.adapter is not None and named)

    def _instead(self, value: Any) -> str:
        """Return how to write a member that is written in another form, as the end of a sentence."""
        kind = value
        if isinstance(value, dict):
            kind = value.get("kind")
        if callable(kind):
            return ": give its class or function, with its arguments as keys beside kind"
        if isinstance(value, list) and len(value) == 1:
            return ': leave out the "- " before its keys'
        if isinstance(value, dict):
            for name in value:
                if name in self.members:
                    return f": write {{kind: {name}, ...}}"
        return ""

    def _can_be_kind(self, value: Any) -> bool:
        return isinstance(value, str) or self._is_definition(value)

    def _installed_path(self, name: str) -> str:
        found = plugins.installed(self.kind)
        paths = {point.path for point in found if point.name == name}
        if not paths and name in self.elsewhere:
            raise fault(f"{name} is an unknown {self.noun}: write {self.elsewhere[name]}")
        if not paths:
            names = [*self.members, *(point.name for point in found)]
            text = f'unknown {self.noun} "{name}"{nearest(name, names)}; known: {", ".join(names)}'
            raise fault(f"{text}, or the module:Class of your own{self._in_other_groups(name)}")
        if len(paths) > 1:
            raise fault(f"several installed packages have a {self.noun} {name}: write {' or '.join(sorted(paths))}")
        return paths.pop()

    def _in_other_groups(self, name: str) -> str:
        """Return where else installed packages have a plug-in of this name, as the end of a message."""
        return "".join(
            f"; {point.distribution} has it in the group edgefl.{kind}, not edgefl.{self.kind}"
            for kind in plugins.installed_kinds()
            for point in plugins.installed(kind)
            if point.name == name
        )

    def _own(self, path: str) -> type[M]:
        """Return edgefl's class at a path, which must be exactly one of this catalogue's entries.

        Other paths are refused: edgefl's modules also hold their imports, and some of these run other programs.
        """
        if path not in {*self.members.values(), *self.unlisted}:
            raise fault(f"{path} is an unknown {self.noun}; known: {', '.join(self.members)}")
        own: type[M] = _import_object(path)
        return own

    def _from_outside(self, name: str, path: str, keys: dict[str, Any], info: ValidationInfo) -> M:
        """Return the member at a path, or an `Unknown` if nothing may be imported."""
        access = access_of(info.context)
        check_allowed(name, access)
        if access.mode == "skip":
            check_path(path)
            access.skipped.append(name)
            return Unknown.model_validate({**keys, "import_path": path})  # type: ignore[return-value]  # for any member
        return self._member(path, imported(path, access), keys, info)

    def _member(self, path: str, found: Any, keys: dict[str, Any], info: ValidationInfo) -> M:
        """Return the member of the definition at a path, given the keys beside `kind`."""
        used = access_of(info.context).used
        if isinstance(found, type) and issubclass(found, self.base):
            used.append(Plugin(self.noun, path, found))  # before its validators, which may fail
            made = found.model_validate(keys, context=info.context)
            _check_written(made)
            return made
        what = f"not a subclass of {self.base.__module__.removesuffix('.base')}.{self.base.__name__}"
        if self.adapter is not None:
            adapt = _import_object(self.adapter.function)
            member: M | None = adapt(path, found, keys, info)
            if member is not None:
                used.append(Plugin(self.noun, path, found))
                return member
            what = f"{what}, nor {self.adapter.what}"
        raise fault(f"{path} is {what}")

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
            cls = self.load(name)
            member = dict(handler.resolve_ref_schema(handler(cls.__pydantic_core_schema__)))
            cls.describe_keys(member)
            kind = {"const": name, "description": self.summary(name)}
            member["properties"] = {"kind": kind, **member.get("properties", {})}
            member["required"] = ["kind", *member.get("required", [])]
            choices.append(member)
        # Paths, and names of installed plug-ins, whose keys are unknown.
        others: list[JsonSchemaValue] = [{"type": "string", "pattern": PATH_PATTERN}]
        names = [point.name for point in plugins.installed(self.kind) if point.name not in self.members]
        if names:
            others.append({"enum": sorted(set(names))})
        for other in others:
            choices.append(other)
            kind = {**other, "description": f"{self.noun} from outside edgefl"}
            choices.append({"type": "object", "properties": {"kind": kind}, "required": ["kind"]})
        return {"anyOf": choices}


def _check_written(member: Member) -> None:
    """Check that the keys of a member from outside can be written to scenario.yaml, and read from it again."""
    cls = type(member)
    if not plugins.is_outside(cls):
        return
    problem = ""
    try:
        cls.model_validate(member.model_dump(mode="json"))
    except PydanticSerializationError as error:
        problem = str(error).partition("\n")[0]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if problem:
        raise fault(f"{plugins.path_of(cls)}: its keys cannot be written to scenario.yaml and read again: {problem}")


def members_in(section: BaseModel, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Member]]:
    """Yield all members in a section and in the sections below it, each with its key."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        parts = enumerate(value) if isinstance(value, tuple | list) else [(None, value)]
        for index, part in parts:
            key: KeyPath = (*path, name) if index is None else (*path, name, index)
            if isinstance(part, Member):
                yield key, part
            if isinstance(part, BaseModel):
                yield from members_in(part, key)


def plugins_in(section: BaseModel) -> list[Plugin]:
    """Return the plug-ins of a section."""
    found: list[Plugin] = []
    for key, member in members_in(section):
        definition = member.made_from()
        if plugins.is_outside(definition):
            path = str(getattr(member, "import_path", plugins.path_of(definition)))
            found.append(Plugin(dotted(key), path, definition))
    return found


def _import_object(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
