# ruff: noqa: INP001  # a program of its own
"""Write the generated pages and pictures that are committed, and print the table of docs/validation.md.

python docs/site/write_pages.py
"""

from pathlib import Path

from site_pages import (
    calibration_picture,
    cases_page,
    flower_apps_page,
    keys_page,
    printed_chart,
    reproduction_pages,
    results_readme,
    table_picture,
    validation,
)

from edgefl.core.files import write_atomically
from edgefl.reproductions.library import Library

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
PICTURED = "fedssg/table-3"
CALIBRATION = "third-party/3gpp-calibration"


def pages(library: Library) -> dict[str, str]:
    """Return the texts of the committed pages by their paths in the repository."""
    return {
        "docs/cases.md": cases_page.text(),
        "docs/flower-apps.md": flower_apps_page.text(ROOT),
        "docs/keys.md": keys_page.text(),
        "docs/reproductions.md": reproduction_pages.overview(library),
        "results/README.md": results_readme.text(),
    }


def main() -> None:
    """Write all of them."""
    library = Library()
    for name, text in pages(library).items():
        write_atomically(ROOT / name, text.encode())
    table_picture.draw(reproduction_pages.recorded(library, library.load(PICTURED)), IMAGES / "reproduction.svg")
    calibrated = reproduction_pages.recorded(library, library.load(CALIBRATION))
    calibration_picture.draw(calibrated, IMAGES / "calibration.svg")
    printed_chart.draw_all(library, IMAGES)
    validation.draw(library, IMAGES / "validation.svg")
    validation.draw(library, ROOT / "packaging" / "paper" / "validation.png")  # journals take no SVG
    print(validation.table(library))


if __name__ == "__main__":
    main()
