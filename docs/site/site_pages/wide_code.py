"""Code that fits into the width of a page."""

import textwrap

WIDEST = 100  # characters of a line of code that the site shows without scrolling


def fitted(block: str) -> str:
    """Return code whose lines are at most `WIDEST` wide: long comments stand above keys, long mappings are broken."""
    lines = []
    for line in block.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        key, mark, comment = line.partition("  # ")
        if len(line) <= WIDEST:
            lines.append(line)
        elif mark and key.strip():
            lines += [*_wrapped(comment.strip(), f"{indent}# "), key.rstrip()]
        elif line.lstrip().startswith("# "):
            lines += _wrapped(line.strip().removeprefix("# "), f"{indent}# ")
        else:
            lines += textwrap.wrap(
                line, WIDEST, subsequent_indent=f"{indent}    ", break_long_words=False, break_on_hyphens=False
            )
    return "\n".join(lines)


def _wrapped(comment: str, start: str) -> list[str]:
    return textwrap.wrap(comment, WIDEST, initial_indent=start, subsequent_indent=start, break_on_hyphens=False)
