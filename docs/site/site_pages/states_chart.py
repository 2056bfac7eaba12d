"""The chart that opens the pages of reproductions: states of recipes, and differences from print, by paper."""

from pathlib import Path

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.library import Library
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from site_pages.reproduction_pages import all_recorded, is_measured

HEIGHT_IN = 2.3
BLUE = "#1f5c99"
STATES = {
    "within tolerance": BLUE,
    "order holds": "#5b8f6b",
    "a named gap": "#e8a33d",
    "outside tolerance": "#b3261e",
    "measured": "#7aa6d8",
    "not measured": "#dfe3e8",
}
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
LEAST_PER_CENT = 0.01  # smaller differences are drawn here
MOST_PER_CENT = 1000


def draw(library: Library, path: Path) -> None:
    """Draw the recorded comparisons of all recipes; the same rows give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    by_paper: dict[str, list[Comparison]] = {}
    for name, comparison in all_recorded(library).items():
        by_paper.setdefault(name.partition("/")[0], []).append(comparison)
    papers = list(by_paper)
    with mpl.rc_context({**STYLE, "svg.hashsalt": "states", "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, HEIGHT_IN), layout="constrained", facecolor="white")
        left, right = figure.subplots(1, 2, sharey=True)
        begins = [0] * len(papers)
        for state, colour in STATES.items():
            counts = [sum(_state(one) == state for one in by_paper[paper]) for paper in papers]
            left.barh(papers, counts, left=begins, color=colour, label=state, height=0.7)
            begins = [begin + count for begin, count in zip(begins, counts, strict=True)]
        left.set_xlabel("recipes")
        for place, paper in enumerate(papers):
            differences = sorted(difference for one in by_paper[paper] for difference in _per_cent(one))
            if differences:
                quantiles = [differences[round(share * (len(differences) - 1))] for share in QUANTILES]
                right.hlines(place, quantiles[0], quantiles[-1], colors=BLUE, linewidth=1)
                right.hlines(place, quantiles[1], quantiles[-2], colors=BLUE, linewidth=5)
                right.plot(quantiles[2], place, "o", color="white", markeredgecolor=BLUE, markersize=6)
                beside = right.get_yaxis_transform()
                right.text(1.02, place, f"n = {len(differences)}", transform=beside, va="center", fontsize=7)
        right.set_xscale("log")
        ticks = [0.01, 0.1, 1, 10, 100, 1000]
        right.set_xticks(ticks, [f"{tick:g} %" for tick in ticks])
        right.set_xticks([], minor=True)
        right.set_xlim(LEAST_PER_CENT * 0.8, MOST_PER_CENT)
        right.set_xlabel("n differences from print: median, quartiles, 10–90 %")
        left.invert_yaxis()  # the first paper on top
        marks, names = left.get_legend_handles_labels()
        figure.legend(marks, names, loc="outside upper center", ncols=len(names))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _state(comparison: Comparison) -> str:
    """Return one of the states that the chart has colours for."""
    if not is_measured(comparison):
        return "not measured"
    return comparison.state if comparison.state in STATES else "measured"


def _per_cent(comparison: Comparison) -> list[float]:
    """Return the differences of the numbers that were compared."""
    compared = [cell.relative for cell in comparison.cells if cell.relative is not None and cell.within is not None]
    return [min(max(100 * abs(relative), LEAST_PER_CENT), MOST_PER_CENT) for relative in compared]
