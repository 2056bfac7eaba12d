"""Comparisons of published with measured numbers, made without a recipe."""

import statistics

from edgefl.reproductions.comparison import Cell, Comparison, Measured, Order
from edgefl.reproductions.published import Printed
from edgefl.reproductions.readings.rounds import ColumnCurve, ColumnFinal
from edgefl.reproductions.recipe import Tolerance
from edgefl.reproductions.records import Row

ORIGIN = {"version": "0.2.0", "commit": "abc1234", "date": "2026-11-22", "took_s": "12"}


def cell(row, column, printed, by_seed, *, bound=False, within=True, measure="rounds"):
    """A cell; `printed` is None where nothing is."""
    numbers = list(by_seed.values())
    mean = statistics.fmean(numbers) if numbers else None
    std = None
    if len(numbers) > 1 and not bound:
        std = statistics.stdev(numbers)
    published = None
    difference = None
    relative = None
    if printed is not None:
        published = Printed(f"{printed:g}", float(printed))
        if numbers and not bound:
            difference = mean - printed
            relative = difference / printed
    return Cell(
        row={"setting": row},
        column=column,
        measure=measure,
        point={"setting": row, "algorithm": column},
        published=published,
        by_seed={seed: Measured(number, bound) for seed, number in by_seed.items()},
        mean=mean,
        std=std,
        bound=bound,
        difference=difference,
        relative=relative,
        within=within,
    )


def run(row, column, seed, **measures):
    return Row({"setting": row, "algorithm": column}, seed, {"rounds": "10", **measures}, ORIGIN)


def comparison(cells=None, **changes):
    """Two settings and two algorithms: one cell is out of tolerance, one is a bound."""
    if cells is None:
        cells = (
            cell("IID", "FedAvg", 45, {1: 43, 2: 40, 3: 43}),
            cell("IID", "FedSSG", 22, {1: 15, 2: 17, 3: 16}, within=False),
            cell("DiD1", "FedAvg", 76, {1: 80, 2: 72, 3: 80}),
            cell("DiD1", "FedSSG", 24, {1: 100, 2: 100, 3: 100}, bound=True, within=None),
        )
    answers = {"IID": True, "DiD1": None}
    fields = {
        "name": "textbook/table-1",
        "title": "Rounds to a target",
        "source": "Textbook, Table 1",
        "covers": ("Table 1",),
        "scale": "full",
        "cells": tuple(cells),
        "orders": tuple(Order("FedSSG > FedAvg", {"setting": row}, holds) for row, holds in answers.items()),
        "tolerance": Tolerance(relative=0.25, orders=("FedSSG > FedAvg",), why="seeds differ by as much"),
        "gap": "FedSSG is earlier than printed.",
        "state": "a named gap",
        "runs_done": 12,
        "runs_needed": 12,
        "seeds": (1, 2, 3),
        "rows": tuple(
            run(row, column, seed)
            for seed in (1, 2, 3)
            for row in ("IID", "DiD1")
            for column in ("FedAvg", "FedSSG")
        ),
        "measures": {"rounds": ColumnFinal(column="round")},
    }  # fmt: skip
    return Comparison(**fields | changes)


def curves():
    """A comparison without printed numbers, of which every second value of a curve was kept."""

    def path(height):
        return " ".join(f"{height / step:g}" for step in (1, 2, 4))

    rows = [
        run("IID", name, seed, path=path(seed * height))
        for seed in (1, 2)
        for name, height in (("FedAvg", 8), ("FedSSG", 4))
    ]
    cells = [cell("IID", name, None, {}, within=None, measure="path") for name in ("FedAvg", "FedSSG")]
    measures = {"path": ColumnCurve(column="train_loss", every=2)}
    return comparison(cells, rows=tuple(rows), measures=measures, orders=(), tolerance=None, gap=None, state="measured")
