"""The library of recipes: recipes/PAPER/ITEM.yaml, published/FILE.csv, measured/PAPER/ITEM-SCALE.csv in one folder."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.reproductions.readings.base import Reading
from edgefl.reproductions.recipe import RUN_KEYS, Recipe, Scale, ScaleName
from edgefl.scenario.source import Source, read

SHIPPED = Path(__file__).parent  # the folder of those that come with edgefl
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")
DEPTH = 4  # of overrides: a key of a value of an axis, such as axes.board.pi5.devices
LIKE = "like"  # the key of a recipe that overrides single keys of another one
PUBLISHED = "published"
# Keys about the rows of one printed table, which no other table takes over.
ABOUT_TABLE = ("misprinted", "repeated", "no_evidence")
LISTED = "`edgefl reproduce` lists all"

# What a recipe with `runs` takes from the other one.
_TAKEN = (*RUN_KEYS, "learns", "check")


@dataclass(frozen=True)
class Entry:
    """A recipe of the library."""

    name: str  # PAPER/ITEM
    path: Path
    recipe: Recipe  # including what it takes from the recipe whose runs it shares
    source: Source  # of its keys
    runs_of: str  # the recipe that defines its runs, usually itself
    runs_path: Path
    runs_source: Source

    @property
    def paper(self) -> str:
        """The folder of its file."""
        return self.name.partition("/")[0]


class Library:
    """All recipes of a folder.

    Args:
        root: the folder; None: that of the recipes that come with edgefl.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or SHIPPED
        if not (self.root / "recipes").is_dir():
            raise InputError(f"{self.root}: holds no recipes: needs recipes/PAPER/ITEM.yaml")
        self._files: dict[str, tuple[Path, Recipe, Source]] = {}

    @cached_property
    def names(self) -> list[str]:
        """The names of all recipes, PAPER/ITEM, by paper."""
        files = sorted(
            (self.root / "recipes").glob("*/*.yaml"), key=lambda path: (path.parent.name, _natural(path.stem))
        )
        return [f"{path.parent.name}/{path.stem}" for path in files]

    @property
    def papers(self) -> list[str]:
        """The papers that have recipes."""
        return list(dict.fromkeys(name.partition("/")[0] for name in self.names))

    def find(self, name: str) -> list[str]:
        """Return the recipes of a name: one, or all of a paper; refuse unknown names."""
        if name in self.names:
            return [name]
        if name in self.papers:
            return [known for known in self.names if known.startswith(f"{name}/")]
        paper = name.partition("/")[0]
        if paper in self.papers and "/" in name:
            items = [known for known in self.names if known.startswith(f"{paper}/")]
            known = ", ".join(one.partition("/")[2] for one in items)
            raise InputError(f"{name}: no such recipe{nearest(name, items)}; {paper} has {known}")
        raise InputError(f"{name}: no such recipe{nearest(name, [*self.names, *self.papers])}; {LISTED}")

    def load(self, name: str) -> Entry:
        """Return a recipe.

        Raises:
            InputError: there is none of this name, or its file is wrong, one line for every fault.
        """
        if name not in self.names:
            self.find(name)
            raise InputError(f"{name}: is a paper, not one of its recipes; {LISTED}")
        path, recipe, source = self._read(name)
        if recipe.runs is None:
            return Entry(name, path, recipe, source, name, path, source)
        if recipe.runs not in self.names:
            text = f"{recipe.runs}: no such recipe{nearest(recipe.runs, self.names)}"
            raise InputError(source.fault(("runs",), text))
        other_path, other, other_source = self._read(recipe.runs)
        if other.runs is not None:
            raise InputError(source.fault(("runs",), f"{recipe.runs} has no runs of its own: write {other.runs}"))
        for measure, reading in recipe.measures.items():
            if other.measures.get(measure, reading) != reading:
                text = f"{recipe.runs} has another measure of this name: choose another name"
                raise InputError(source.fault(("measures", measure), text))
        return Entry(name, path, _with_runs_of(recipe, other), source, recipe.runs, other_path, other_source)

    def all(self) -> list[Entry]:
        """Return all recipes, by paper.

        Raises:
            InputError: a file is wrong.
        """
        return [self.load(name) for name in self.names]

    def measures(self, runs_of: str) -> dict[str, Reading]:
        """Return the measures of a recipe, and of the recipes that share its runs.

        Raises:
            InputError: a file is wrong, or two recipes have different measures of one name.
        """
        found: dict[str, Reading] = {}
        for entry in self.all():
            if entry.runs_of != runs_of:
                continue
            for name, reading in entry.recipe.measures.items():
                if found.setdefault(name, reading) != reading:
                    text = f"another recipe with the runs of {runs_of} has another measure of this name"
                    raise InputError(entry.source.fault(("measures", name), text))
        return found

    def published(self, file: str) -> Path:
        """Return the path of a printed table."""
        return self.root / "published" / file

    def recorded(self, entry: Entry, scale: ScaleName) -> Path:
        """Return the path of the recorded rows of a recipe's runs, which need not exist."""
        return self.root / "measured" / f"{entry.runs_of}-{scale}.csv"

    def _read(self, name: str) -> tuple[Path, Recipe, Source]:
        if name not in self._files:
            self._files[name] = self._read_file(name)
        return self._files[name]

    def _read_file(self, name: str) -> tuple[Path, Recipe, Source]:
        path = self.root / "recipes" / f"{name}.yaml"
        raw, source = read(path)
        if LIKE in raw:
            raw = self._with_keys_of_other(raw, source)
        try:
            recipe = Recipe.model_validate(raw)
        except ValidationError as error:
            lines = [source.fault(item["loc"], item["msg"]) for item in error.errors(include_url=False)]
            raise InputError(*dict.fromkeys(lines)) from None
        return path, recipe, source

    def _with_keys_of_other(self, own: dict[str, Any], source: Source) -> dict[str, Any]:
        """Return the keys of a recipe, and those that it takes from the recipe that it names as `like`."""
        other = own.pop(LIKE)
        if other not in self.names:
            raise InputError(source.fault((LIKE,), f"{other}: no such recipe{nearest(str(other), self.names)}"))
        keys, _ = read(self.root / "recipes" / f"{other}.yaml")
        if LIKE in keys:
            raise InputError(source.fault((LIKE,), f"{other} is like another recipe: write {keys[LIKE]}"))
        if own.get(PUBLISHED, keys.get(PUBLISHED)) != keys.get(PUBLISHED):
            keys = {key: value for key, value in keys.items() if key not in ABOUT_TABLE}
        return _overridden(keys, own)


def _overridden(keys: dict[str, Any], own: dict[str, Any], depth: int = DEPTH) -> dict[str, Any]:
    """Return a mapping with some keys replaced, also in mappings within it; above the last level null removes a key."""
    merged = dict(keys)
    for key, value in own.items():
        if depth > 1 and isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _overridden(merged[key], value, depth - 1)
        elif depth > 1 and value is None and key in keys:
            del merged[key]
        else:
            merged[key] = value
    return merged


def _natural(text: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts table-2 before table-11, and table-ix before table-x."""
    parts: list[tuple[int, int | str]] = []
    for part in re.findall(r"[0-9]+|[^0-9_-]+", text):
        key: tuple[int, int | str] = (1, part)
        if part.isdecimal():
            key = (0, int(part))
        elif part in _ROMAN:
            key = (0, 1 + _ROMAN.index(part))
        parts.append(key)
    return parts


def _with_runs_of(recipe: Recipe, other: Recipe) -> Recipe:
    update: dict[str, Any] = {key: getattr(other, key) for key in _TAKEN}
    update["measures"] = {**other.measures, **recipe.measures}
    if not recipe.data:
        update["data"] = other.data
    scales = {name: scale for name, scale in other.scales.items() if name not in recipe.not_at}
    for name, scale in recipe.scales.items():
        own = {key: getattr(scale, key) for key in scale.model_fields_set}
        scales[name] = scales.get(name, Scale()).model_copy(update=own)
    update["scales"] = scales
    return recipe.model_copy(update=update)
