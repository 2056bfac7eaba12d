"""Faults of YAML are told in words of their author, never in the parser's, at a line that has the fault."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core.paths import shipped_folder
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario.source import read
from edgefl.scenario.yaml_reader import parse

OF_THE_PARSER = (
    "token",
    "block end",
    "block mapping",
    "mapping values",
    "scalar",
    "node content",
    "stream",
    "expected",
)
DAMAGES = ["", "\t", "[", "}", '"', ":", "- ", "  ", "\n", "@", "{a", "&", "*x"]
TEXTS = [path.read_text() for path in sorted(shipped_folder().glob("*.yaml"))[:20]]

LINES = [
    ("data:\n\tdataset: digits\n", 2, "a tab stands where only spaces may be: write spaces"),
    ("radio:\n  slot_s: 0.001\n   bandwidth_hz: 20e6\n", 3, "indented more than the one above, which has a value"),
    ("radio:\n    bandwidth_hz: 20e6\n  slot_s: 0.001\n", 3, "the indentation fits no line above"),
    ("rounds:5\nseed: 1\n", 1, "a space is missing after the colon: write rounds: 5"),
    ("seed: 1\nrounds:\u00a05\n", 2, "a non-breaking space follows the colon: write rounds: 5"),
    ("rounds: 5\nname: FedAvg: 20 MHz\n", 2, "a second colon on the line: write a text in quotes"),
    ('name: "my run\nrounds: 5\nseed: 1\n', 1, "a quote is not closed"),
    ("targets: [\n  0.8,\n  0.9\nrounds: 5\n", 1, "a bracket is not closed, or a comma is missing"),
    ("server: {participants: 10}}\nrounds: 5\n", 1, "} closes a bracket that is not open: remove it"),
    ("rounds: 5\n---\nrounds: 6\n", 2, "write each in a file of its own"),
    ("targets: !!python/tuple [0.5]\n", 1, "the tag python/tuple is unknown: only plain values are read"),
    ("radio:\n  slot_s: 0.001\nradio:\n  bandwidth_hz: 20e6\n", 3, "the key radio is here twice: remove one"),
]


@pytest.mark.parametrize(("text", "line", "words"), LINES)
def test_fault_names_its_line_and_cause(text, line, words):
    with pytest.raises(NotYaml) as refused:
        parse(text)
    assert (refused.value.line, words in refused.value.problem) == (line, True), refused.value.problem


@pytest.mark.oracle
@settings(max_examples=200)
@given(st.sampled_from(TEXTS), st.integers(0), st.sampled_from(DAMAGES))
def test_damaged_scenario_gets_no_words_of_the_parser(text, at, damage):
    at %= len(text)
    fault = fault_of(text[:at] + damage + text[at + 1 :])
    if fault is not None:
        assert not [word for word in OF_THE_PARSER if word in fault.problem]
        assert 1 <= fault.line <= text.count("\n") + 2
        assert "\n" not in fault.problem


def fault_of(text):
    """Return the fault of a text; None if it has none."""
    try:
        parse(text)
    except NotYaml as error:
        return error
    return None


def test_byte_order_mark_is_accepted(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes("rounds: 5\n".encode("utf-8-sig"))
    assert read(path)[0] == {"rounds": 5}


def test_json_may_be_indented_by_tabs_and_keeps_its_lines():
    content = {"rounds": 5, "devices": {"count": 6, "cpu_hz": {"uniform": [1e9, 2e9]}}, "name": "a b"}
    data, lines = parse(json.dumps(content, indent="\t"))
    assert data == content
    assert lines["devices", "count"] == 4
