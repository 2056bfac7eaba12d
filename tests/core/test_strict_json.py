"""JSON without what Python alone reads."""

import pytest

from edgefl.core.strict_json import strict_json


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", '{"a": [-1e400]}', "{"])
def test_infinite_numbers_are_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - of json, too, which has a text of its own
        strict_json(text)


def test_other_values_are_read_as_python_reads_them():
    assert strict_json(b'{"a": [1, 2.5, null, "NaN"]}') == {"a": [1, 2.5, None, "NaN"]}
