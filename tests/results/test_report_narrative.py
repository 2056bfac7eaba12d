"""The story of a run: at most three sentences, the first of them in bold."""

import re

from result_folders import rewrite

from edgefl.results.report.page import render
from edgefl.results.report.run import bottleneck, lost_updates, narrative
from edgefl.results.report.shared.read import load
from edgefl.results.report.why import sentences as why


def test_story_has_lost_updates_the_bottleneck_and_the_parts(result):
    run = load(result("all"))
    assert narrative.sentences(run) == [bottleneck.sentence(run), why.of_run(run)]
    late = load(rewrite(result("late", rounds=8), "devices.csv", lambda _: {"status": "late"}))
    late.rounds["received"][:] = 0
    late.rounds["late"][:] = late.rounds["selected"]
    found = narrative.sentences(late)
    assert found == [lost_updates.sentence(late), bottleneck.sentence(late), why.of_run(late)]
    assert found[0].startswith("None of ")


def test_page_opens_with_the_story_and_numbers_keep_their_units(result):
    run = load(result(rounds=20))
    page = render([run])
    (strong,) = re.findall(r'<div class="story">\s*<p><strong>(.*?)</strong></p>', page)
    assert strong.replace("\N{NO-BREAK SPACE}", " ") == bottleneck.sentence(run)
    assert "16\N{NO-BREAK SPACE}rounds of" in page


def test_run_without_rounds_has_no_story(result):
    assert narrative.sentences(load(result(rounds=0, status="interrupted"))) == []
