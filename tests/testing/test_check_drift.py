"""edgefl.testing.check_drift: shipped kinds pass, and mistakes are found."""

import numpy as np
import pytest

from edgefl.learning.drifts import DRIFTS, Drift
from edgefl.testing import ConformanceError, check, check_drift


@pytest.mark.parametrize("name", DRIFTS.members)
def test_shipped_kinds_pass(name):
    assert check_drift(DRIFTS.load(name)).ok
    assert check(DRIFTS.load(name), at_s=[60.0]).ok
    assert check(DRIFTS.load(name)(at_round=[2, 3])).ok


def test_other_samples_can_be_asked_for():
    assert check_drift(DRIFTS.load("labels"), shape=(5,), classes=3, swap=[[0, 2]]).ok
    assert check_drift(DRIFTS.load("rotation"), shape=(1, 4, 6), quarter_turns=2).ok


class Noisy(Drift):
    """Adds noise that is drawn for each sample (test)."""

    def inputs(self, x, rng):
        """Return samples with noise of each sample's own."""
        return x + rng.normal(size=x.shape[::-1]).T.astype(x.dtype)


class Centred(Drift):
    """Subtracts the mean of all samples (test)."""

    def inputs(self, x, rng):
        """Return what depends on the other samples."""
        return x - x.mean(axis=0)


class Wide(Drift):
    """Makes double precision (test)."""

    def inputs(self, x, rng):
        """Return another type."""
        return x.astype(np.float64) + 1


class Flat(Drift):
    """Forgets the shape (test)."""

    def inputs(self, x, rng):
        """Return another shape."""
        return x.reshape(len(x), -1)


class InPlace(Drift):
    """Darkens what it is given (test)."""

    def inputs(self, x, rng):
        """Return its argument, changed."""
        x *= 0.5
        return x


class Beyond(Drift):
    """Makes a class that does not exist (test)."""

    def labels(self, y, classes, rng):
        """Return classes 1 to `classes`."""
        return y + 1


class Sorted(Drift):
    """Gives classes by rank among all samples (test)."""

    def labels(self, y, classes, rng):
        """Return what depends on the other samples."""
        return np.roll(y, 1)


class Nothing(Drift):
    """Overrides neither (test)."""


class Refuses(Drift):
    """Refuses every dataset (test)."""

    def refusal(self, data):
        """Return a reason."""
        return "needs audio"


@pytest.mark.parametrize(
    ("member", "finding", "message"),
    [
        (Noisy, "one of many", "Noisy.inputs returns other values for a sample when fewer samples are with it"),
        (Centred, "one of many", "Centred.inputs returns other values for a sample"),
        (Sorted, "one of many", "Sorted.labels returns other values for a sample"),
        (Wide, "returns", "of float64, expected samples of the same type, float32"),
        (Flat, "returns", r"Flat.inputs returned an array \[60, 64\] of float32, expected samples \[60, 1, 8, 8\]"),
        (InPlace, "arguments", "InPlace.inputs changes its arguments in place"),
        (Beyond, "returns", "Beyond.labels returned other values than whole numbers from 0 to 9"),
        (Nothing, "changes", "override one of them"),
        (Refuses, "returns", "Refuses.refusal returned 'needs audio' for samples"),
    ],
)
def test_mistakes_are_found(member, finding, message):
    with pytest.raises(ConformanceError, match=message) as raised:
        check_drift(member)
    assert f"WRONG  {finding} " in str(raised.value)


def test_labels_change_where_they_are_overridden():
    """Nothing has to be declared: what is not declared cannot be forgotten."""
    assert Beyond(at_round=[2]).changes_labels
    assert not Centred(at_round=[2]).changes_labels
    assert DRIFTS.load("labels")(at_s=[1.0]).changes_labels
    assert not DRIFTS.load("rotation")(at_s=[1.0]).changes_labels
