# ruff: noqa: INP001  # MkDocs reads this file; nothing imports it
"""Links the first use of a technical word on each page of the site to the glossary.

MkDocs calls `on_page_markdown` while it builds. The pages in the repository stay as they are.
"""

import posixpath
import re

from mkdocs.structure.pages import Page

GLOSSARY = "glossary.md"
# Pages that explain words in their tables, or list them
NOT_IN = (GLOSSARY, "index.md", "reference/", "repository/", "reproductions/", "architecture.md", "notebooks/")
LINKED = (
    *("BLER", "Checkpoint", "Churn", "Codec", "Coupling loss", "CSI", "Dirichlet partition", "DRX tail"),
    *("DVFS", "Error feedback", "Fading", "Fixed shares", "Handover", "HARQ", "Hopeless link", "Jain's index"),
    *("Large-scale channel", "Ledger", "Line of sight", "Link adaptation", "Link budget", "MCS", "NOMA", "OFDMA"),
    *("Over-selection", "Participation", "Path loss", "Penetration loss", "Processor sharing", "Radio link failure"),
    *("Resource block", "Shadowing", "Shapley value", "SINR", "SNR", "Speed-up", "Spatial consistency"),
    *("Split learning", "Staleness", "Tapped delay line", "TDD", "Time to accuracy", "Transport block"),
    *("Virtual time", "Wrap-around"),
)
"""Headings of the glossary that a page links to; everyday words such as "round" are not links."""

FENCE = re.compile(r"^\s*(```|~~~)")
KEPT = re.compile(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]+>)")  # code, links, HTML


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return the text of a page with links to the glossary."""
    own = page.file.src_uri
    if own.startswith(NOT_IN) or not own.endswith(".md"):
        return markdown
    title = markdown.lstrip().partition("\n")[0].lower()
    patterns = {word: _pattern(word) for word in LINKED if word.lower() not in title}
    glossary = posixpath.relpath(GLOSSARY, posixpath.dirname(own))
    lines = []
    in_block = False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            in_block = not in_block
        if in_block or line.startswith(("#", "```", "    ")):
            lines.append(line)
        else:
            lines.append(_with_links(line, patterns, glossary))
    return "\n".join(lines)


def _with_links(line: str, patterns: dict[str, re.Pattern[str]], glossary: str) -> str:
    """Return a line with links for new words, and remove these from the patterns."""
    parts = KEPT.split(line)
    for word, pattern in list(patterns.items()):
        for number in range(0, len(parts), 2):
            match = pattern.search(parts[number])
            if match is None:
                continue
            anchor = re.sub(r"[^\w\- ]", "", word.lower()).replace(" ", "-")
            link = f"[{match[0]}]({glossary}#{anchor})"
            parts[number : number + 1] = [parts[number][: match.start()], link, parts[number][match.end() :]]
            del patterns[word]
            break
    return "".join(parts)


def _pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a word and its plural; of an acronym in capitals only."""
    flags = re.NOFLAG if word.isupper() else re.IGNORECASE
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?:e?s)?(?![\w-])", flags)
