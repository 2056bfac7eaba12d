"""A figure of each kind is drawn of the rows that were recorded for it, into a folder that does not exist yet."""

import pytest

from edgefl.reproductions import pages
from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.study_folder import recorded_rows

LIBRARY = Library()
RECORDED = {  # one of the figures of each kind, with the same keys
    (entry.recipe.figure.kind, *sorted(entry.recipe.figure.model_fields_set)): (entry.name, scale)
    for entry in LIBRARY.all()
    for scale in entry.recipe.scale_names
    if entry.recipe.figure is not None and LIBRARY.recorded(entry, scale).exists()
}


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "scale"), RECORDED.values())
def test_a_recorded_figure_is_drawn_into_a_new_folder(name, scale, tmp_path):
    pytest.importorskip("matplotlib")
    planned = plan(LIBRARY, LIBRARY.load(name), scale)
    compared = compare(planned, recorded_rows(LIBRARY, planned))
    written = pages.write(compared, tmp_path / "new")
    drawn = [path for path in written if path.name not in (pages.COMPARISON, pages.LATEX, pages.PAGE)]
    assert bool(drawn) == bool(compared.rows)
    for path in drawn:
        assert path.stat().st_size > 100


def test_all_kinds_of_figures_are_recorded():
    assert len({kind for kind, *_ in RECORDED}) > 3
