"""Handovers in each round."""

from report_folders import named, with_rounds

from edgefl.results.report.run.population import handovers_card
from edgefl.results.report.shared.read import load


def test_each_round_has_a_bar_of_its_handovers(result):
    run = load(with_rounds(result("some"), handovers=lambda n: n % 4))
    assert named(handovers_card(run, [run]).figure, "handovers")["y"] == run.rounds["handovers"].tolist()


def test_a_run_without_handovers_has_no_card(result):
    for folder in (with_rounds(result("none"), handovers=lambda _: 0), result("off")):
        run = load(folder)
        assert handovers_card(run, [run]) is None
