"""Why the methods of a study take more or less time and energy than the baseline, in sentences."""

from collections.abc import Mapping, Sequence

from edgefl.results.report.shared.read import Run, load
from edgefl.results.report.shared.style import even_pick
from edgefl.results.report.sweep.study import Study
from edgefl.results.report.why import sentences
from edgefl.results.report.why.sentences import Side

MOST_RUNS = 400  # that are read with their devices for these sentences
NOTE = "These are means, where slow settings weigh most. Effects are geometric means over pairs."

Setting = tuple[int, ...]  # the values of the other keys, and the seed


def why(study: Study, baselines: Sequence[int]) -> dict[int, list[str]]:
    """Return for each baseline why the methods take more or less than it; of many runs an even pick counts.

    Methods are the values of the method's key, or else of the first key. The sentences are about means over the
    settings of the other keys, and the seeds, at which both have finished, with ``devices.csv`` in their folders.

    Raises:
        InputError: a result folder cannot be read, or lies outside the sweep's folder.
    """
    found: dict[int, list[str]] = {baseline: [] for baseline in baselines}
    if not study.keys:
        return found
    rows = _rows(study, study.method or 0)
    read: dict[int, Run] = {}
    for baseline in baselines:
        found[baseline] = _against(study, rows, baseline, read)
    return found


def _against(study: Study, rows: Mapping[int, Mapping[Setting, int]], baseline: int, read: dict[int, Run]) -> list[str]:
    texts = study.keys[study.method or 0].texts
    reference = rows.get(baseline, {})
    found = []
    for level, own in sorted(rows.items()):
        settings = [setting for setting in reference if setting in own]
        if level == baseline or not settings:
            continue
        settings = [settings[place] for place in even_pick(len(settings), MOST_RUNS // len(rows))]
        ours = Side(texts[level], [_run(study, own[setting], read) for setting in settings])
        theirs = Side(texts[baseline], [_run(study, reference[setting], read) for setting in settings])
        found.append(sentences.of_pair(ours, theirs, over="runs"))
    return [sentence for sentence in found if sentence]


def _rows(study: Study, number: int) -> dict[int, dict[Setting, int]]:
    """Return the finished runs, as rows of the index, by the value of a key and their setting."""
    seeds = study.numbers["seed"]
    rows: dict[int, dict[Setting, int]] = {}
    for point, study_point in enumerate(study.points):
        indices = study_point.value_indices
        for row in study.finished_rows[point]:
            if not (study.run_folder(row) / "devices.csv").is_file():
                continue
            setting = (*indices[:number], *indices[number + 1 :], int(seeds[row]))
            rows.setdefault(indices[number], {})[setting] = row
    return rows


def _run(study: Study, row: int, read: dict[int, Run]) -> Run:
    if row not in read:
        read[row] = load(study.run_folder(row))
    return read[row]
