"""The pages of reproductions follow from the recipes and the recorded rows."""

from dataclasses import replace

import pytest
from comparison_cases import comparison
from site_pages import reproduction_pages, table_picture

from edgefl.reproductions.library import Library

RECIPE = """\
title: Numbers | of a <b>table</b>
source: Textbook, Table 9
covers: [Table 9]
published: numbers.csv
columns: rate
data: [DATASET]
base: 06-quadratic
axes: {rate: {slow: {training.lr: 0.1}, fast: {training.lr: 0.2}}}
seeds: [1, 2]
measures: {last: {kind: column_final, column: parameter}}
tolerance: {relative: 0.1, why: as an example}
gap: fast is too fast
figure: {y: last}
"""
ABOUT = "# A textbook\n\nIts tables.\n\nWithout a recipe: Figure 1, a drawing.\n"


@pytest.fixture
def library(tmp_path):
    """Two recipes: one that was measured in part, and one of other data that was not."""
    for folder in ("recipes/textbook", "published", "measured/textbook"):
        (tmp_path / folder).mkdir(parents=True)
    for name, dataset in (("table-9", "quadratic"), ("table-10", "mnist")):
        (tmp_path / "recipes" / "textbook" / f"{name}.yaml").write_text(RECIPE.replace("DATASET", dataset))
    (tmp_path / "published" / "numbers.csv").write_text("slow,fast\n10,20\n")
    (tmp_path / "recipes" / "textbook" / "about.md").write_text(ABOUT)
    record = "rate,seed,last,date\nslow,1,10.2,2026-01-02\nslow,2,10.4,2026-01-03\nfast,1,30,2026-01-02\n"
    (tmp_path / "measured" / "textbook" / "table-9-full.csv").write_text(record)
    return Library(tmp_path)


def test_pages_tell_measured_recipes_from_others(library):
    pages = reproduction_pages.pages(library)
    state = "partly measured (3 of 4 runs), so far a named gap"
    row = f"| Table 9 | table-9 | {state} | 10 % | 1 of 2 | 27 % | 50 % | 0 % |"
    overview = pages["reproductions/README.md"]
    assert row in overview
    assert "| Table 9 | table-10 | needs data: mnist | 10 % |  |  |  | 0 % |" in overview
    page = pages["reproductions/textbook.md"]
    title, _, rest = ABOUT.partition("\n")
    assert page.startswith(f"{title}\n\n![Measured over printed numbers")
    assert rest in page
    assert "\n\nWithout a recipe: Figure 1, a drawing.\n" in overview
    assert "| 10 / 10.30 ± 0.14 | **20 / 30** |" in page
    assert "- **Gap**: fast is too fast" in page
    assert "`edgefl reproduce textbook/table-9 --recorded -o FOLDER` writes the figure." in page
    assert "## Table 9: Numbers | of a &lt;b>table&lt;/b>" in page
    assert page.count("\n## ") == 1


@pytest.mark.oracle
def test_the_picture_has_each_mark_and_the_same_bytes_again(tmp_path):
    compared = replace(comparison(), title="Rounds <to> a target")
    texts = []
    for name in ("first.svg", "second.svg"):
        table_picture.draw(compared, tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    assert "Rounds &lt;to&gt; a target" in texts[0]
    marks = sum(line.count("<use ") for line in texts[0].partition('id="legend_1"')[0].split("\n") if "xlink" in line)
    assert marks >= 4 + 12 + 4
