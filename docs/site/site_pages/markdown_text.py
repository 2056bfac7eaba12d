"""Markdown: texts, tables, links between pages."""

import posixpath
import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Return a text on one line for a cell of a table, in which only backticks are markup."""
    # YAML in a text, such as {kind: time}, is code, too.
    parts = re.split(r"(`+[^`]*`+|\{[^{}`]*\})", " ".join(text.split()))
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = code(part.strip("`"))
        else:
            parts[number] = re.sub(r"([|*\[])", r"\\\1", part).replace("<", "&lt;")
    return "".join(parts)


def code(text: str) -> str:
    """Return a text as code in a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def link(text: str, own: str, target: str) -> str:
    """Return a link from one page to another; both are paths in docs/."""
    path, _, anchor = target.partition("#")
    href = posixpath.relpath(path, posixpath.dirname(own))
    if anchor:
        href = f"#{anchor}" if path == own else f"{href}#{anchor}"
    return f"[{text}]({href})"


def words(name: str) -> str:
    """Return the words of a link to a page in docs/: the name of its file."""
    return posixpath.basename(name).removesuffix(".md").replace("-", " ")


def slug(heading: str) -> str:
    """Return the anchor that both renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def page(title: str, *parts: str) -> str:
    """Return a page: its title, and its parts with an empty line between them."""
    texts = [part.strip("\n") for part in parts if part.strip()]
    return "\n\n".join([f"# {title}", *texts]) + "\n"
