"""The guides of the documentation: pages in docs/, by what they explain."""

from edgefl.core.words import words_of


def guides() -> dict[str, str]:
    """Return the guide to a section or key; to a missing key, the guide to the section around it."""
    found: dict[str, str] = words_of(__file__, "guides.yaml")
    return found


def guide_of_key(key: str) -> str:
    """Return the path of the guide to a dotted key, from the root of the repository."""
    while key not in guides():
        key = key.rpartition(".")[0]
    return f"docs/{guides()[key]}"
