"""A library with recipes whose numbers are known: steps on a parabola, and what computing alone takes."""

import csv

from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.records import Row

START = 8.0
RATES = {"slow": 0.1, "fast": 0.25}
CURVATURES = {"flat": 0.5, "steep": 1.0}
ROUNDS = 4
DIVERGED = "round 3: the global model diverged"

SCENARIO = f"""\
rounds: {ROUNDS}
data: {{dataset: quadratic, coefficients: [[0.5, 0, 0]]}}
model: {{init: {{kind: value, value: {START}}}}}
training: {{local_steps: 1, batch_size: full, lr: 0.1, lr_schedule: constant, weight_decay: 0, clip_norm: null}}
server: {{selection: {{kind: schedule, rounds: [[0]]}}}}
devices: {{count: 1}}
"""

# A step multiplies the parameter by 1 - 2 lr a.
PARABOLA = """\
title: Steps on a parabola
source: Textbook, Table 1
covers: [Table 1]
published: steps.csv
rows: {set: [tried]}
columns: rate
base: bases/parabola.yaml
axes:
  shape:
    flat: {data.coefficients: [[0.5, 0, 0]]}
    steep: {data.coefficients: [[1.0, 0, 0]]}
  rate:
    slow: {training.lr: 0.1}
    fast: {training.lr: 0.25}
seeds: [1]
measures:
  last: {kind: column_final, column: parameter}
  path: {kind: column_curve, column: parameter}
tolerance: {relative: 0.001, why: four digits are printed}
learns: false
"""

# Without learning, so that its processes need no torch.
PRICES = """\
title: Downloads
source: Textbook, Figure 1
covers: [Figure 1]
base: bases/parabola.yaml
set: {rounds: 30}
axes: {rate: {slow: {training.lr: 0.1}, fast: {training.lr: 0.2}, faster: {training.lr: 0.3}}}
columns: rate
seeds: [1, 2]
train: false
measures: {time: {kind: column_final, column: time_s}}
scales:
  small: {seeds: [1], axes: {rate: [slow, fast]}}
"""


def answer(shape, rate):
    """The parameter after all rounds."""
    return START * (1 - 2 * RATES[rate] * CURVATURES[shape]) ** ROUNDS


def write_library(folder, *, published=answer, **recipes):
    """Write a library with textbook/table-1, textbook/figure-1 and other recipes by name; return its folder."""
    place = folder / "recipes" / "textbook"
    (place / "bases").mkdir(parents=True, exist_ok=True)
    (folder / "published").mkdir(exist_ok=True)
    (place / "bases" / "parabola.yaml").write_text(SCENARIO)
    for name, text in {"table_1": PARABOLA, "figure_1": PRICES, **recipes}.items():
        (place / f"{name.replace('_', '-')}.yaml").write_text(text)
    with (folder / "published" / "steps.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "shape", *RATES])
        for shape in CURVATURES:
            writer.writerow(["tried", shape, *(f"{published(shape, rate):.4g}" for rate in RATES)])
        writer.writerow(["not tried", "flat", "1", "2"])
    return folder


def planned(folder, text=PARABOLA, scale="full"):
    """The plan of textbook/table-1, written as this text."""
    library = Library(write_library(folder, table_1=text))
    return plan(library, library.load("textbook/table-1"), scale)


def exact(run):
    """The parameter after all rounds of a run."""
    return answer(run.point["shape"], run.point["rate"])


def rows_of(plan, value=exact):
    """A row for each run, with `last` as a function of the run."""
    rows = [Row(dict(run.point), run.seed, {"last": str(value(run)), "path": "1 2"}) for run in plan.runs]
    return {row.key: row for row in rows}


def with_divergence(rows, *keys):
    """The same rows, but the runs of some keys have diverged."""
    return rows | {key: Row(rows[key].point, rows[key].seed, {}, diverged=DIVERGED) for key in keys}


def run_with_table(folder, name, header, rows):
    """A finished run that has only one table."""
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return FinishedRun(folder)
