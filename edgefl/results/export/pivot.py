"""The pivot of a sweep's table: values of some keys as rows, of others as columns."""

from collections.abc import Sequence

from edgefl.results.export.dialects import Cell, TextColumn
from edgefl.results.report.sweep.selection import StudyChoice, layout_of, setting_text, settings_of
from edgefl.results.report.sweep.study import Study

EMPTY = Cell("")


def pivot(
    study: Study, choice: StudyChoice, points: Sequence[int], titles: Sequence[str], numbers: Sequence[TextColumn]
) -> list[TextColumn]:
    """Return a table with a row for each setting of the row keys, and a block of columns for each measure.

    Keys that are in neither are rows, too, so that each cell is one point; `numbers` has the cells [points] of each
    measure, for the points `points`.

    Raises:
        InputError: the sweep has no such key, or one is in both.
    """
    layout = layout_of(study, StudyChoice(over=None, rows=choice.rows, columns=choice.columns))
    row_keys = list(layout.rows)
    row_keys += [number for number in range(len(study.keys)) if number not in {*layout.rows, *layout.columns}]
    row_of = {point: settings_of(study, row_keys, [point])[0] for point in points}
    column_of = {point: settings_of(study, layout.columns, [point])[0] for point in points}
    rows = sorted(set(row_of.values()))
    columns = []
    for place, number in enumerate(row_keys):
        key = study.keys[number]
        cells = [Cell(key.texts[row[place]]) for row in rows]
        columns.append(TextColumn("", key.title, cells, left=key.numbers is None))
    for title, column in zip(titles, numbers, strict=True):
        cell_of = {(row_of[point], column_of[point]): cell for point, cell in zip(points, column.cells, strict=True)}
        unit = column.name.partition(" [")[2]
        block = f"{title} [{unit}" if unit else title
        for setting in sorted(set(column_of.values())):
            cells = [cell_of.get((row, setting), EMPTY) for row in rows]
            if not setting:
                columns.append(TextColumn("", block, cells))
            elif len(setting) == 1:  # the title of the only key stands above its values
                key = study.keys[layout.columns[0]]
                columns.append(TextColumn(f"{block}, by {key.title}", key.texts[setting[0]], cells))
            else:
                columns.append(TextColumn(block, setting_text(study, layout.columns, setting), cells))
    return columns
