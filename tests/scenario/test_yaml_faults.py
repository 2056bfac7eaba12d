"""Faults of YAML are told in words of their author, never in the parser's, at a line that has the fault."""

import json

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.core.paths import shipped_folder
from edgefl.scenario.source import read
from edgefl.scenario.yaml_faults import UNKNOWN
from edgefl.scenario.yaml_reader import NotYaml, parse

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
TEXTS = {path.name: path.read_text() for path in sorted(shipped_folder().glob("*.yaml"))[:20]}

LINES = {
    "the quote of an earlier line": ('name: "a\ntargets: [0.8]\ndata: {path: "x"}\n', 1, "quote"),
    "a quote within a text": ("name: 'Anna's run'\nrounds: 5\n", 1, "quote"),
    "an apostrophe that opens nothing": ("rounds: 5\nname: it's\nradio: {slot_s: 1\n", 3, "bracket {"),
    "a list over lines": ("targets: [\n  0.8,\n  0.9\nrounds: 5\n", 1, "bracket ["),
    "a comma over lines": ("server: {\n  policy: deadline\n  participants: 5\n}\n", 3, "comma"),
    "brackets of two kinds": ("targets: [0.8}\n", 1, "[ needs ]"),
    "a comment after an indented line": ("radio:\n  slot_s: 0.001\n  # the band\n bandwidth_hz: 20e6\n", 4, "0 or 2"),
    "a line without a colon": ("seed: 1\nrounds 5\nname: a\n", 2, "colon"),
    "a key in a list": ("targets:\n- 0.8\n 0.9: 1\n", 3, ""),
    "an entry among keys": ("seed: 1\n- rounds: 5\n", 2, "list entry"),
    "an unknown escape": ('name: "\\d"\n', 1, "backslash"),
    "a control character": ("seed: 1\nname: a\x07\n", 2, "U+0007"),
}


@pytest.mark.parametrize(("text", "line", "word"), LINES.values(), ids=LINES)
def test_fault_names_its_line_and_cause(text, line, word):
    with pytest.raises(NotYaml) as refused:
        parse(text)
    assert (refused.value.line, word in refused.value.problem) == (line, True), refused.value.problem


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_scenario_gets_no_words_of_the_parser(name):
    draw = np.random.default_rng(len(TEXTS[name]))
    text = TEXTS[name]
    found = []
    for _ in range(60):
        at = int(draw.integers(len(text)))
        damaged = text[:at] + str(draw.choice(DAMAGES)) + text[at + 1 :]
        found.append(_fault(damaged))
    faults = [fault for fault in found if fault is not None]
    told = [fault.problem for fault in faults]
    assert not [problem for problem in told if any(word in problem for word in OF_THE_PARSER)]
    assert all(1 <= fault.line <= text.count("\n") + 2 for fault in faults)
    assert told.count(UNKNOWN) <= 3


def _fault(text):
    """Return the fault of a text; None if it has none."""
    try:
        parse(text)
    except NotYaml as error:
        return error
    return None


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            "rounds: 5\nname: café\n".encode("cp1252"),
            ":2: the byte 0xe9 is not UTF-8 (in Windows-1252 it is é): save the file as UTF-8",
        ),
        ("rounds: 5\n".encode("utf-16"), ": is a text in UTF-16: save it as UTF-8"),
        (
            b"# a\nrounds = 5\n",
            ":2: not valid YAML: a colon and a space end a key, not an equals sign: write rounds: 5",
        ),
    ],
)
def test_text_of_another_kind_is_named(tmp_path, content, line):
    path = tmp_path / "s.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read(path)
    assert str(refused.value) == f"{path}{line}"


def test_byte_order_mark_is_accepted(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes("rounds: 5\n".encode("utf-8-sig"))
    assert read(path)[0] == {"rounds": 5}


def test_json_may_be_indented_by_tabs_and_keeps_its_lines():
    content = {"rounds": 5, "devices": {"count": 6, "cpu_hz": {"uniform": [1e9, 2e9]}}, "name": "a b"}
    data, lines = parse(json.dumps(content, indent="\t"))
    assert data == content
    assert lines["devices", "count"] == 4
