"""Steps of the tutorial, and task pages: what they run, what they print, and which numbers they tell.

`python tests/cases/lessons.py docs/tutorial/*.md docs/tasks/*.md` runs all steps and writes their outputs again.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from edgefl.cli import main

FILE = re.compile(r"^\*\*`([\w.-]+)`\*\*$")
FENCE = re.compile(r"^```(\w*)$")
NUMBER = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)(?:,000)?(?: (%))?(?!\w)")
ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
CODE = re.compile(r"`[^`]*`")
OTHER_STEP = re.compile(r"[Ss]tep \d\d")
LINK = re.compile(r"\]\([^)]*\)")
RUN = ("sh", "python")
# Lines that edgefl prints about the machine, the folder, or what has tests of its own
NOT_COMPARED = ("bottleneck", "plausible", "results  ", "takes  ", "memory  ", "disk  ")
SPOKEN_OF = ("bottleneck", "plausible")  # lines that a page shows only where it speaks of them


class Block(NamedTuple):
    """A fenced block: its language, its lines, the page's number of the first one, from 0, and the line above it."""

    language: str
    text: str
    line: int
    above: str

    def file_name(self):
        """Return the name of the file that the block is, or an empty text."""
        name = FILE.match(self.above)
        return name[1] if name else ""


class Step(NamedTuple):
    """A part of a page below a heading of the second level."""

    title: str
    lines: list[str]
    blocks: list[Block]

    def commands(self):
        """Return each block that runs something, with the block of its output."""
        pairs = []
        for i, block in enumerate(self.blocks):
            if block.language not in RUN or block.file_name():
                continue
            output = None
            if i + 1 < len(self.blocks) and self.blocks[i + 1].language == "text":
                output = self.blocks[i + 1]
            pairs.append((block, output))
        return pairs


def steps(page):
    """Return the steps of a page; a page without headings of the second level is one step."""
    found = []
    lines = page.read_text(encoding="utf-8").splitlines()
    if not any(line.startswith("## ") for line in lines):
        return [Step(lines[0].removeprefix("# "), lines, blocks_of(lines, 0))]
    for start, line in enumerate(lines):
        if line.startswith("## "):
            found.append((line.removeprefix("## "), start, []))
        if found:
            found[-1][2].append(line)
    return [Step(title, lines, blocks_of(lines, start)) for title, start, lines in found]


def blocks_of(lines, start):
    blocks = []
    language = None
    first = 0
    for i, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and language is None:
            language = fence[1]
            first = i + 1
        elif fence:
            above = lines[first - 2] if first > 1 else ""
            blocks.append(Block(language, "\n".join(lines[first:i]), start + first, above))
            language = None
    return blocks


def write_files(step):
    """Write the files that a step shows into the working directory."""
    for block in step.blocks:
        if block.file_name():
            Path(block.file_name()).write_text(f"{block.text}\n", encoding="utf-8")


def printed(block):
    """Return what a block prints, run in the working directory."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)  # exports write bytes
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), modules_of_this_folder():
        if block.language == "python":
            exec(compile(block.text, "tutorial", "exec"), {})  # noqa: S102  the page's own program
        else:
            for command in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(command, comments=True)
                assert words[0] == "edgefl", command
                code = main(words[1:])
                assert code == 0, f"{command}: exit code {code}"
    text = out.buffer.getvalue().decode().replace(f"{Path.cwd()}/", "")
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


@contextlib.contextmanager
def modules_of_this_folder():
    """Let programs import the modules of the working directory, and forget these in the end."""
    before = set(sys.modules)
    sys.path.insert(0, str(Path.cwd()))
    yield
    sys.path.remove(str(Path.cwd()))
    for path in Path.cwd().glob("*.py"):
        if path.stem not in before:
            sys.modules.pop(path.stem, None)


def prose(step):
    """Return the text of a step without its blocks, code, links and headings."""
    kept = []
    fenced = False
    for line in step.lines:
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith(("#", "!")):
            kept.append(line)
    return OTHER_STEP.sub("", LINK.sub("]", CODE.sub("", "\n".join(kept))))


def told_numbers(step):
    """Return the numbers in a step's prose: (as written, whether it is a share in per cent)."""
    return [(number, bool(percent)) for number, percent in NUMBER.findall(prose(step))]


def is_known(number, percent, known):
    """Return whether a number of the prose is one of `known`, rounded, or such a share in per cent."""
    decimals = len(number.partition(".")[2])
    value = float(number)
    factors = (1, 100) if percent else (1,)
    return any(abs(value - round(factor * k, decimals)) < 1e-9 for k in known for factor in factors)


def without_bottleneck(text):
    """Return what a command prints without what has tests of its own, or differs between machines."""
    return without(text, NOT_COMPARED)


def without(text, beginnings):
    """Return what a command prints without the lines that begin so, and their continuations."""
    kept = []
    left_out = False
    for line in text.splitlines():
        left_out = line.startswith(beginnings) or (left_out and line.startswith(" "))
        if not left_out:
            kept.append(line)
    return "\n".join(kept)


def unspoken(step):
    """Return the beginnings of the lines that the step's outputs leave out, as its text does not name them."""
    text = "\n".join(step.lines)
    return tuple(name for name in SPOKEN_OF if f"`{name}`" not in text)


def words(text):
    """Return a text with a mark instead of each number, and one blank instead of several."""
    return ANY_NUMBER.sub("#", text).split()


def worked_out(step):
    """Return the numbers that a step computes itself: those of its comment `<!-- worked out: ... -->`."""
    found = re.search(r"<!-- worked out: (.*?) -->", "\n".join(step.lines))
    return found[1].split() if found else []


def numbers(text):
    """Return all numbers in a text."""
    return [float(number) for number in ANY_NUMBER.findall(text)]


def rewrite(page):
    """Run all steps of a page and write their outputs into it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for step in reversed(steps(page)):
        new = []
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write_files(step)
            for block, output in step.commands():
                text = without(printed(block), unspoken(step))
                if output is not None:
                    new.append((output, text))
        for output, text in reversed(new):
            end = output.line + len(output.text.splitlines())
            lines[output.line : end] = text.splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in sys.argv[1:]:
        rewrite(Path(name).absolute())
