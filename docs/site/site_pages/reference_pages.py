"""All pages of the reference."""

from site_pages import (
    catalogue_pages,
    command_line,
    preset_page,
    python_names,
    result_columns,
    rule_table,
    scenario_keys,
    shipped_scenarios,
)

SOURCES = (
    scenario_keys,
    preset_page,
    rule_table,
    catalogue_pages,
    result_columns,
    command_line,
    shipped_scenarios,
    python_names,
)


def pages() -> dict[str, str]:
    """Return the texts of the pages by their paths in docs/."""
    texts: dict[str, str] = {}
    for source in SOURCES:
        texts |= source.pages()
    return texts
