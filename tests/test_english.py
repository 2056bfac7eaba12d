"""Code and docs do without the words that plain English does without, and test names state behaviour."""

import re
from pathlib import Path

import english
import pytest

# The words are quoted there, as patterns and as examples; what the changelog says of past releases stays as it was.
QUOTING = {"tests/english.py", "tests/test_english.py", "CONTRIBUTING.md", "CHANGELOG.md"}
RIDDLE = re.compile(r"^\s*def (test_(?:it|what|who|whose|whether)_\w+)", re.MULTILINE)


def place(text):
    """Return where a text stands."""
    return f"{text.path.relative_to(english.ROOT)}:{text.line}"


@pytest.mark.oracle
def test_no_text_has_strange_words():
    found = [
        f"{place(text)}: {words}"
        for path in english.tracked_files([])
        if path.relative_to(english.ROOT).as_posix() not in QUOTING and english.may_be_strange(path)
        for text in english.texts(path)
        for words in english.strange_words(text)
    ]
    assert found == []


def test_test_names_state_behaviour():
    found = [
        f"{path.name}: {name}"
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))
        for name in RIDDLE.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Nobody is asked, and whoever leaves is forgotten.", ["Nobody", "whoever"]),
        ("It is divided anew, by which no further row changes at all.", ["anew", "by which", "further", "at all"]),
        ("Likewise, a label stands in place of the number.", ["Likewise", "in place of"]),
        ("A label is no number.", ["is no number"]),
        ("There is no number here, and it is no longer a label: it changed in place, at all times.", []),
    ],
)
def test_strange_words_are_found(sentence, words):
    assert list(english.strange_words(english.Text(Path("page.md"), 1, sentence))) == words


def test_prose_of_code_is_comments_texts_and_test_names(tmp_path):
    path = tmp_path / "test_code.py"
    path.write_text(
        '''"""A first docstring."""

# A comment
# of two lines.
NAME = "short"


def test_that_it_works():
    pass
'''
    )
    assert {(text.line, text.words) for text in english.texts(path)} == {
        (1, "A first docstring."),
        (3, "A comment of two lines."),
        (8, "test that it works"),
    }


def test_blocks_of_code_on_a_page_are_not_prose(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("One line\nand another.\n\n```sh\nedgefl run anew\n```\nThe end.\n")
    assert [text.words for text in english.texts(path)] == ["One line and another.", "The end."]
