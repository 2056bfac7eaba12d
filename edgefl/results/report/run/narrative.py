"""The story of a run in four sentences at most: what it lost, its bottleneck, what it is made of, its error bars."""

from edgefl.results.report.run import bottleneck, lost_updates
from edgefl.results.report.shared import error_bars
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.templates import Html, render
from edgefl.results.report.why import sentences as why


def sentences(run: Run) -> list[str]:
    """Return the sentences in order, without empty ones; none for a run that was stopped in its first round."""
    if not run.length:
        return []
    candidates = [lost_updates.sentence(run), bottleneck.sentence(run), why.of_run(run), error_bars.sentence(run)]
    return [sentence for sentence in candidates if sentence]


def section(run: Run) -> Html:
    """Return the sentences as a paragraph each, the first of them in bold; an empty text without any."""
    return render("run/story.html.j2", sentences=sentences(run))
