"""The page: figures and tables put into the template, with scripts and styles inside.

To add a figure of one run, see `run_cards`; a learning curve, see `learning_curves`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from string import Template

from edgefl.core.units import NO_NUMBER, TIME, quantity
from edgefl.results.report.comparison import headline, learning_curves, pooled_seeds
from edgefl.results.report.comparison.learning_section import comparison_section, learning_section
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.run import replay, what_if
from edgefl.results.report.run.detail_sections import (
    data_figures,
    data_section,
    detail_sections,
    narrative_text,
)
from edgefl.results.report.run.results_section import results
from edgefl.results.report.run.run_cards import cost_cards, world_cards
from edgefl.results.report.run.sessions_table import sessions_table
from edgefl.results.report.shared import describe, label_heatmap, tables
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.resources import as_json, plotly, resource, scripts
from edgefl.results.report.shared.style import DARK, StyledRun, styled_run, template

MOST_NAMES = 3  # of runs in the page's title


def render(runs: Sequence[Run], above: str = "") -> str:
    """Return the complete page for one or several runs.

    Args:
        runs: the runs.
        above: a link to the page of the sweep that they are from, as HTML.
    """
    # The label, colour and dash of a run are the same in all charts and tables of the page.
    groups = pooled_seeds.pooled(runs)
    if pooled_seeds.are_pooled(groups):
        look_of = {id(run.data): run for group in groups for run in group.runs}
        styled_runs = [look_of[id(run)] for run in runs]
    else:
        groups = []
        labels = describe.labels(runs)
        styled_runs = [
            styled_run(run, label, place) for place, (run, label) in enumerate(zip(runs, labels, strict=True))
        ]
    learning_figures = learning_curves.figures(styled_runs, groups)
    data_tables = label_heatmap.runs_by_data(styled_runs)
    label_figures = data_figures(data_tables)
    world = [world_cards(index, runs) for index in range(len(runs))]
    costs = [cost_cards(index, runs) for index in range(len(runs))]
    # The page's script finds figures by name and draws each in the element that has this name.
    figures = learning_figures | label_figures | what_if.figures(styled_runs)
    for cards in (*world, *costs):
        figures |= {card.name: card.figure for card in cards}

    data = data_section(styled_runs, data_tables, label_figures)
    title, subtitle = _title_and_subtitle(runs, groups)
    values = {
        "title": escape(title),
        "subtitle": " · ".join(part for part in (escape(subtitle), above) if part),
        "banners": "".join(headline.banner(run.data, _banner_name(run, runs)) for run in styled_runs),
        "headline": _headline(styled_runs, groups),
        "learning": learning_section(styled_runs, learning_figures, groups) + comparison_section(styled_runs, groups),
        "what_if": what_if.section(styled_runs),
        "details": detail_sections(styled_runs, world, costs, data),
        "results_title": "Results",
        "results": results(styled_runs),
        "sources": _sources_section(styled_runs),
        "footer": escape(_footer(runs)),
        "style": resource("shared/style.css") + resource("run/what_if.css") + resource("run/replay.css"),
        "early": resource("shared/theme.js"),
        "plotly": plotly(),
        "figures": as_json(
            {
                "template": template(),
                "dark": DARK,
                "figures": figures,
                "what_if": what_if.data(styled_runs),
                "replays": replay.tapes(runs),
            }
        ),
        "script": scripts("shared/page.js", "run/what_if.js", "run/replay.js"),
    }
    return Template(resource("shared/template.html")).substitute(values)


def _title_and_subtitle(runs: Sequence[Run], groups: Sequence[PooledRuns]) -> tuple[str, str]:
    """Return the page's title and, as its subtitle, the facts that all runs share."""
    names = list(dict.fromkeys(describe.name(run) for run in runs))
    facts = describe.facts(describe.shared([run.scenario for run in runs]))
    if groups and pooled_seeds.seeds_text(groups):
        facts.append(pooled_seeds.seeds_text(groups))
    if len(runs) == 1:
        return names[0], " · ".join(facts)
    if len(names) == 1:
        return f"{names[0]}: {len(runs)} runs", " · ".join(facts)
    subtitle = " · ".join([f"{len(runs)} runs", *facts])
    if len(names) > MOST_NAMES:
        names = [*names[:MOST_NAMES], "…"]
    return " / ".join(names), subtitle


def _shared(facts: Sequence[list[str]]) -> list[str]:
    """Return the facts of the first run that all others have, too."""
    return [fact for fact in facts[0] if all(fact in others for others in facts)]


def _banner_name(run: StyledRun, runs: Sequence[Run]) -> str:
    """Return the run as the line about its status names it."""
    if len(runs) == 1:
        return "This run"
    return run.label


def _headline(runs: Sequence[StyledRun], groups: Sequence[PooledRuns]) -> str:
    """Return the main results: tiles and sentences of one run, or a table of several."""
    # Tiles of several runs would fill the page; a table sets their numbers below each other.
    if len(runs) > 1:
        results_table = headline.runs_table(runs)
        differences = headline.differences_table(runs)
        if groups:
            single = f"<details><summary>Each run</summary>{results_table}</details>"
            results_table = pooled_seeds.table_of_means(groups) + single
            differences = headline.differences_of_groups(groups)
        return (
            f'<section id="runs"><h2>Runs</h2><div class="card">{results_table}</div></section>'
            f'<section id="differences"><h2>What differs</h2><div class="card">{differences}</div></section>'
        )
    run = runs[0].data
    top = headline.tiles(run) + narrative_text(run)
    sessions = sessions_table(run)
    if sessions:
        top += f'<section id="sessions"><h2>Sessions</h2><div class="card">{sessions}</div></section>'
    return top


def _sources_section(runs: Sequence[StyledRun]) -> str:
    """Return the section with the files that say what was run."""
    sources = "".join(_sources(run, alone=len(runs) == 1) for run in runs)
    return f'<section class="sources" id="sources"><h2>Scenario and manifest</h2>{sources}</section>'


def _sources(run: StyledRun, *, alone: bool) -> str:
    """Return the complete scenario and manifest, folded."""
    title = "Show both files"
    if not alone:
        title = tables.swatch(run)
    manifest = json.dumps(run.data.manifest, indent=2, ensure_ascii=False)
    return (
        f"<details><summary>{title}</summary>"
        f'<div class="grid"><div><h3>scenario.yaml</h3><pre>{escape(run.data.scenario_text)}</pre></div>'
        f"<div><h3>manifest.json</h3><pre>{escape(manifest)}</pre></div></div></details>"
    )


def _footer(runs: Sequence[Run]) -> str:
    """Return which versions made the results on which hardware, and when, as far as all runs share it."""
    return " · ".join(_shared([_provenance(run) for run in runs]))


def _provenance(run: Run) -> list[str]:
    manifest = run.manifest
    facts = [f"{name} {manifest.get(name, NO_NUMBER)}" for name in ("edgefl", "python", "numpy", "torch")]
    facts.append(f"on {manifest.get('device', NO_NUMBER)}")
    facts.append(f"{quantity(manifest.get('wall_s'), TIME)} of wall-clock time")
    facts.append(f"started {manifest.get('started', NO_NUMBER)}")
    return facts
