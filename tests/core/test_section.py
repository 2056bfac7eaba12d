"""Messages about wrong values as a user reads them; empty keys and repeated faults."""

from typing import Annotated, ClassVar

import pytest
from pydantic import Field, ValidationError

from edgefl.core.section import Section


class Inner(Section):
    depth: float = 1.0


class Outer(Section):
    inlined: ClassVar[str | None] = "inner"

    inner: Inner = Inner()
    count: Annotated[int, Field(gt=0)] = 3
    sizes: Annotated[tuple[int, ...], Field(strict=False, min_length=1)] = (1,)


def faults(**values):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(values)
    return [(".".join(map(str, item["loc"])), item["msg"]) for item in caught.value.errors()]


@pytest.mark.parametrize(
    ("values", "key", "text"),
    [
        ({"count": 0}, "count", "must be > 0, got 0"),
        ({"count": 2.5}, "count", "must be a whole number, got 2.5"),
        ({"count": True}, "count", "must be a whole number, got true"),
        ({"cuont": 4}, "cuont", 'unknown key (did you mean "count"?); known: inner, count, sizes'),
        ({"inner": {"depth": "deep"}}, "depth", 'must be a number, got "deep"'),
        ({"sizes": []}, "sizes", "must not be empty, got []"),
        ({"sizes": ["a"]}, "sizes.0", 'must be a whole number, got "a"'),
    ],
)
def test_a_fault_is_one_sentence_at_its_key(values, key, text):
    assert faults(**values) == [(key, text)]


def test_empty_key_counts_as_missing():
    assert Outer.model_validate({"count": None}).count == 3
    assert faults(other=None)[0][0] == "other"


class WithTuples(Section):
    sizes: tuple[int, ...] = (8,)
    corners: tuple[tuple[float, float], ...] | None = None
    names: list[str] = Field(default_factory=list)


def test_lists_of_a_file_fill_keys_that_hold_tuples():
    # Authors of plug-ins annotate a tuple; YAML, and the scenario that a run writes, have lists.
    section = WithTuples.model_validate({"sizes": [1, 2], "corners": [[0.0, 1.0], [2.0, 3.0]], "names": ["a"]})
    assert section.sizes == (1, 2)
    assert section.corners == ((0.0, 1.0), (2.0, 3.0))
    assert section.names == ["a"]
    assert WithTuples.model_validate(section.model_dump(mode="json")) == section


@pytest.mark.parametrize("keys", [{"sizes": ["a"]}, {"sizes": [1.5]}, {"corners": [[0.0]]}, {"sizes": 3}])
def test_entries_of_lists_are_checked(keys):
    with pytest.raises(ValidationError):
        WithTuples.model_validate(keys)
