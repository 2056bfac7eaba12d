"""The page: figures and tables put into the template, with scripts and styles inside.

To add a figure of one run, see `run_cards`; a learning curve, see `learning_curves`.
"""

import json
from collections.abc import Sequence

from edgefl.core.units import NO_NUMBER, TIME, quantity
from edgefl.results.labels import labels
from edgefl.results.report.comparison import headline, learning_curves, pooled_seeds, why_section
from edgefl.results.report.comparison.learning_section import comparison_section, learning_section
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.run import narrative, what_if
from edgefl.results.report.run.detail_sections import detail_sections, labels_blocks
from edgefl.results.report.run.results_section import results
from edgefl.results.report.run.run_cards import cost_cards, world_cards
from edgefl.results.report.run.sessions_table import sessions_table
from edgefl.results.report.shared import describe, templates
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import StyledRun, styled_run
from edgefl.results.report.shared.templates import Html

MOST_NAMES = 3  # of runs in the page's title


def render(runs: Sequence[Run], above: Html | str = "") -> Html:
    """Return the complete page for one or several runs."""
    # The label, colour and dash of a run are the same in all charts and tables of the page.
    groups = pooled_seeds.pooled(runs)
    if pooled_seeds.are_pooled(groups):
        look_of = {id(run.data): run for group in groups for run in group.runs}
        styled_runs = [look_of[id(run)] for run in runs]
    else:
        groups = []
        names = labels([run.scenario for run in runs])
        styled_runs = [
            styled_run(run, label, place) for place, (run, label) in enumerate(zip(runs, names, strict=True))
        ]
    learning_figures = learning_curves.figures(styled_runs, groups)
    label_maps = labels_blocks(styled_runs)
    world = [world_cards(index, runs) for index in range(len(runs))]
    costs = [cost_cards(index, runs) for index in range(len(runs))]
    # The page's script finds figures by name and draws each in the element that has this name.
    figures = learning_figures | {block.card.name: block.card.figure for block in label_maps}
    figures |= what_if.figures(styled_runs)
    for cards in (*world, *costs):
        figures |= {card.name: card.figure for card in cards}

    title, facts = _title_and_facts(runs, groups)
    names = [run.label for run in styled_runs]
    if len(runs) == 1:
        names = ["This run"]
    return templates.render(
        "page.html.j2",
        title=title,
        subtitle=Html(" · ").join(part for part in (" · ".join(facts), above) if part),
        banners=Html("").join(headline.banner(run.data, name) for run, name in zip(styled_runs, names, strict=True)),
        headline=_headline(styled_runs, groups),
        learning=learning_section(styled_runs, learning_figures, groups) + comparison_section(styled_runs, groups),
        what_if=what_if.section(styled_runs),
        details=detail_sections(styled_runs, world, costs, label_maps),
        results=results(styled_runs),
        sources=[(run, json.dumps(run.data.manifest, indent=2, ensure_ascii=False)) for run in styled_runs],
        footer=_footer(runs),
        styles=["run/what_if.css"],
        script_names=["shared/page.js", "run/what_if.js"],
        data={"figures": figures, "what_if": what_if.data(styled_runs)},
    )


def _title_and_facts(runs: Sequence[Run], groups: Sequence[PooledRuns]) -> tuple[str, list[str]]:
    names = list(dict.fromkeys(describe.name(run) for run in runs))
    facts = describe.facts(describe.shared([run.scenario for run in runs]))
    if groups and pooled_seeds.seeds_text(groups):
        facts.append(pooled_seeds.seeds_text(groups))
    if len(runs) == 1:
        return labels([runs[0].scenario])[0], facts
    if len(names) == 1:
        return f"{names[0]}: {len(runs)} runs", facts
    if len(names) > MOST_NAMES:
        names = [*names[:MOST_NAMES], "…"]
    return " / ".join(names), [f"{len(runs)} runs", *facts]


def _headline(runs: Sequence[StyledRun], groups: Sequence[PooledRuns]) -> Html:
    # Tiles of each of several runs would fill the page; a table sets their numbers below each other.
    if len(runs) > 1:
        means = Html()
        differences = headline.differences_table(runs)
        if groups:
            means = pooled_seeds.table_of_means(groups)
            differences = headline.differences_of_groups(groups)
        one_seed = not groups or min(len(group.runs) for group in groups) == 1
        table = headline.runs_table(runs)
        return why_section.section(runs, groups) + templates.render(
            "comparison/runs.html.j2", means=means, table=table, differences=differences, one_seed=one_seed
        )
    run = runs[0].data
    sessions = templates.render("run/sessions.html.j2", table=sessions_table(run))
    return headline.tiles(run) + narrative.section(run) + sessions


def _footer(runs: Sequence[Run]) -> str:
    first, *others = [_provenance(run) for run in runs]
    return " · ".join(fact for fact in first if all(fact in other for other in others))


def _provenance(run: Run) -> list[str]:
    manifest = run.manifest
    facts = [f"{name} {manifest.get(name, NO_NUMBER)}" for name in ("edgefl", "python", "numpy", "torch")]
    facts.append(f"on {manifest.get('device', NO_NUMBER)}")
    facts.append(f"{quantity(manifest.get('wall_s'), TIME)} of wall-clock time")
    facts.append(f"started {manifest.get('started', NO_NUMBER)}")
    return facts
