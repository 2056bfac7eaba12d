"""Draws sentences from code and docs, and finds words that plain English does without.

    python tests/english.py                     # the words, with their places
    python tests/english.py --draw 100 --seed 1 # sentences to read
    python tests/english.py edgefl/radio docs/cells.md ...

Code counts with its docstrings, comments and texts, Markdown and YAML with all lines outside blocks of code.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = (".py", ".md", ".yaml", ".yml", ".toml")

# "is no longer" is fine, and so is "there is no".
COMPARED = "longer|shorter|later|earlier|larger|smaller|higher|lower|wider|faster|slower|further|better|more|less|worse"
# Each pattern with the words to use instead.
STRANGE = {
    r"(no|some|any|every)body|no one|(some|any|every)one": "no device, a user, all users, or the sentence turned round",
    r"whom|whoever|whomever|whatsoever": "that, a device that, a user who, or the sentence turned round",
    r"anew": "again",
    r"in place of": "instead of",
    r"likewise": "also, too",
    r"in the mean(?! of\b)": "on average",
    r"(by|with|for|from) which": "that or whose, a verb, or two sentences",
    r"at all(?=[.,:;?!)]|$)": "nothing: not, none, never",  # "at all times" is fine
    r"in vain": "without effect, or what happened",
    r"further(?! (than|from|apart)\b|:)": "more, other, later",
    r"of alike": "of equal, of similar",
    r"comes? along": "travels with",
    rf"(?<!there )(is|are) no (?!(?:{COMPARED})\b)\w+": "is not a",
}
MARKS = re.compile(r"""(?:\\n|[\s"'#_\\])+""")
PATTERN = re.compile("|".join(rf"\b(?:{words})\b" for words in STRANGE), re.IGNORECASE)


class Text(NamedTuple):
    """A piece of prose with the place where it begins."""

    path: Path
    line: int
    words: str


def tracked_files(names: list[str]) -> list[Path]:
    """Return the text files of the repository below some names, or all of them."""
    listed = subprocess.run(["git", "ls-files", *names], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(SUFFIXES)]


def texts(path: Path) -> Iterator[Text]:
    """Yield the prose of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _texts_of_code(path, source)
    elif path.suffix == ".md":
        yield from _paragraphs(path, source)
    else:
        for number, line in enumerate(source.splitlines(), 1):
            _, mark, comment = line.partition("#")
            if mark:
                yield Text(path, number, comment.strip())


def may_be_strange(path: Path) -> bool:
    """Return whether a strange word stands in a file, if marks that may part its words count as spaces."""
    return PATTERN.search(MARKS.sub(" ", path.read_text(encoding="utf-8"))) is not None


def _texts_of_code(path: Path, source: str) -> Iterator[Text]:
    """Yield comments, joined where they follow each other, and all texts that contain a space."""
    comment: Text | None = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("#").strip()
            if comment is not None:
                words = f"{comment.words} {words}"
            comment = Text(path, comment.line if comment is not None else token.start[0], words)
        elif comment is not None and token.type != tokenize.NL:
            yield comment
            comment = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield Text(path, node.lineno, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Text(path, node.lineno, node.name.replace("_", " "))


def _paragraphs(path: Path, source: str) -> Iterator[Text]:
    """Yield the paragraphs of a page of Markdown, without its blocks of code."""
    lines: list[str] = []
    begin = 1
    in_code = False
    for number, line in enumerate([*source.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        if fence:
            in_code = not in_code
        if fence or in_code or not line.strip():
            if lines:
                yield Text(path, begin, " ".join(lines))
            lines = []
            begin = number + 1
        else:
            lines.append(line.strip())


def strange_words(text: Text) -> Iterator[str]:
    """Yield the words of a text that plain English does without."""
    for found in PATTERN.finditer(text.words):
        yield found.group()


def sentences(text: Text) -> Iterator[str]:
    """Yield the sentences of a text, of four words or more."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", text.words):
        plain = " ".join(sentence.split())
        if len(plain.split()) >= 4 and plain.count("|") < 2:  # not a row of a table
            yield plain


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="files or folders; all of the repository by default")
    parser.add_argument("--draw", type=int, help="sentences to draw at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = [text for path in tracked_files(options.names) for text in texts(path)]
    if options.draw:
        pool = [(text, sentence) for text in found for sentence in sentences(text)]
        drawn = random.Random(options.seed).sample(pool, min(options.draw, len(pool)))  # noqa: S311
        for text, sentence in drawn:
            print(f"{text.path.relative_to(ROOT)}:{text.line}: {sentence}")
        return
    for text in found:
        for words in strange_words(text):
            print(f"{text.path.relative_to(ROOT)}:{text.line}: {words}")


if __name__ == "__main__":
    main()
