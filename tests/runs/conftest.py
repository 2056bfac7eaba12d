"""Fixtures that tests of runs share."""

from collections import Counter

import pytest

from edgefl.learning.learner import Learner


@pytest.fixture
def jobs(monkeypatch):
    """Count the devices that have been trained, by round."""
    counts = Counter()
    submit = Learner.submit

    def counting(self, device, index, *args, **more):
        counts[index] += 1
        return submit(self, device, index, *args, **more)

    monkeypatch.setattr(Learner, "submit", counting)
    return counts


@pytest.fixture(autouse=True)
def results_without_pages(request, monkeypatch):
    """Do not draw the page of each run's results, which hardly any test of this room opens."""
    if "pages" not in request.fixturenames:
        for caller in ("edgefl.api", "edgefl.runs.sweeps"):
            monkeypatch.setattr(f"{caller}.write_report", lambda folder: folder / "report.html")


@pytest.fixture
def pages():
    """Draw the pages of results all the same."""
