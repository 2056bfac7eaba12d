"""Handovers in each round."""

from report_folders import named, with_rounds

from edgefl.results.report.run import handovers
from edgefl.results.report.shared.read import load


def test_handovers(result):
    run = load(with_rounds(result("some"), handovers=lambda n: n % 4))
    assert named(handovers.figure(run), "handovers")["y"] == run.rounds["handovers"].tolist()
    assert handovers.figure(load(with_rounds(result("none"), handovers=lambda _: 0))) is None
    assert handovers.figure(load(result("off"))) is None
