# ruff: noqa: INP001  # MkDocs reads this file; nothing imports it
"""Makes files outside docs/ that pages link to pages of the site.

MkDocs calls the functions below while it builds. A link such as ``../scenarios/quickstart.yaml`` works in a clone of
the repository; on the site it leads to a page with that file. The name of a file between backticks becomes a link, too.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

FOLDER = "repository"  # of these pages on the site
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Files of the repository that pages of the site replace
SAME = {
    "README.md": "index.md",
    "results/README.md": "reference/columns.md",
    "docs/keys.md": "reference/scenario/README.md",
    "docs/reproductions.md": "reproductions/README.md",
}
# Sections of docs/keys.md that are not sections of scenarios
OF_KEYS = {
    "presets": "reference/presets.md",
    "catalogues": "reference/catalogues/README.md",
    "what-goes-with-what": "reference/what-goes-with-what.md",
    "command-line": "reference/command-line.md",
}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".csv": "text", ".sbatch": "sh", "Makefile": "make", ".toml": "toml"}

NAMES_IN_FULL = re.compile(r"<!-- in full: ([\w.= ]+) -->")  # in the pages of Python names
FETCHING = re.compile(r"<script type=\"module\">(?:(?!</script>).)*https://(?:(?!</script>).)*</script>", re.DOTALL)
MARKDOWN_LINK = re.compile(r'href="(?!\w+:)([\w./-]+)\.md(#[^"]*)?"')
FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"\]\((?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")
NAMED = re.compile(r"(?<![`\[])`((?:docs|scenarios|results|benchmarks)/[\w./-]+\.\w+|[A-Z]{4,}\.md)`(?![`\]])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file of the repository that a page or the navigation links to."""
    root = Path(config.config_file_path).parent
    wanted = set(ALWAYS)
    for name in ALWAYS:
        wanted |= _outside_links(name, (root / name).read_text(encoding="utf-8"), root)
    for file in files.documentation_pages():
        if file.src_uri.endswith(".md"):
            wanted |= _outside_links(f"docs/{file.src_uri}", file.content_string, root)
    for name in sorted(wanted):
        level = InclusionLevel.INCLUDED if name in ALWAYS else InclusionLevel.NOT_IN_NAV
        content = (root / name).read_text(encoding="utf-8")
        if not name.endswith(".md"):
            content = _as_page(name, content)
        files.append(File.generated(config, _site_path(name), content=content, inclusion=level))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page, with links to the pages of files outside docs/."""
    root = Path(config.config_file_path).parent
    own = page.file.src_uri
    source = _repository_path(own)
    if own.startswith(f"{FOLDER}/") and not source.endswith(".md"):
        return markdown  # a file as it is

    def linked(match: re.Match[str]) -> str:
        target = _target(source, match[1])
        if not _can_be_page(root, target):
            return match[0]
        return f"]({_from(own, _site_link(target, match[2] or ''))})"

    def named(match: re.Match[str]) -> str:
        target = match[1]
        site_path = _site_path(target)
        if not (root / target).is_file() or files.get_file_from_path(site_path) is None or site_path == own:
            return match[0]
        return f"[`{target}`]({_from(own, site_path)})"

    lines = []
    markdown = NAMES_IN_FULL.sub(_in_full, markdown)
    for line, is_code in _lines(markdown):
        if is_code:
            lines.append(line)
        else:
            lines.append(NAMED.sub(named, LINK.sub(linked, line)))
    return "\n".join(lines)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Return the content of a page; of notebooks without fetched scripts, and with links to pages of the site."""
    if page.file.src_uri.endswith(".ipynb"):
        return MARKDOWN_LINK.sub(r'href="\1.html\2"', FETCHING.sub("", html))
    return html


def on_post_page(output: str, **_: object) -> str:
    """Return a page whose search has a name for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def _in_full(match: re.Match[str]) -> str:
    """Return the directives that mkdocstrings replaces by the documentation of names."""
    texts = []
    for pair in match[1].split():
        name, _, definition = pair.partition("=")
        texts.append(
            f"::: {definition}\n    options:\n      heading: {name}\n      toc_label: {name.rpartition('.')[2]}\n"
        )
    return "\n".join(texts)


def _outside_links(source: str, text: str, root: Path) -> set[str]:
    """Return the files outside of docs/ that a text links to, or names between backticks."""
    found: set[str] = set()
    for line, is_code in _lines(text):
        if is_code:
            continue
        targets = [_target(source, match[1]) for match in LINK.finditer(line)]
        targets += [match[1] for match in NAMED.finditer(line)]
        found.update(target for target in targets if not target.startswith("docs/") and _can_be_page(root, target))
    return found - set(SAME)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Return the lines of a text, each with whether it belongs to a block of code."""
    in_block = False
    for line in text.split("\n"):
        if FENCE.match(line):
            in_block = not in_block
            yield line, True
        else:
            yield line, in_block


def _can_be_page(root: Path, target: str) -> bool:
    path = root / target
    return not target.startswith("..") and path.is_file() and path.suffix not in {".png", ".svg", ".html", ".parquet"}


def _as_page(name: str, content: str) -> str:
    """Return the Markdown of a page that shows a file."""
    path = Path(name)
    language = LANGUAGES.get(path.suffix) or LANGUAGES.get(path.name, "text")
    return f"# {path.name}\n\n`{name}` in the repository.\n\n````{language}\n{content}\n````\n"


def _target(source: str, link: str) -> str:
    """Return the target of a link as a path in the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def _site_path(name: str) -> str:
    """Return the page of a file of the repository."""
    if name in SAME:
        return SAME[name]
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if name.endswith(".md"):
        return f"{FOLDER}/{name}"
    return f"{FOLDER}/{name}.md"


def _site_link(name: str, anchor: str) -> str:
    """Return the page, with its anchor, of a section of a file of the repository."""
    section = anchor.removeprefix("#")
    if name == "docs/reproductions.md" and section:
        return f"reproductions/{section}.md"
    if name == "docs/keys.md" and section:
        return OF_KEYS.get(section, f"reference/scenario/{section}.md")
    return f"{_site_path(name)}{anchor}"


def _repository_path(site_path: str) -> str:
    """Return the file of the repository that a page of the site shows."""
    if not site_path.startswith(f"{FOLDER}/"):
        return f"docs/{site_path}"
    name = site_path.removeprefix(f"{FOLDER}/")
    if name in ALWAYS:
        return name
    return name.removesuffix(".md")


def _from(own: str, target: str) -> str:
    """Return the relative link from one page of the site to another."""
    return posixpath.relpath(target, posixpath.dirname(own))
