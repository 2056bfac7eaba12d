"""Drifts, healthy and broken."""

import numpy as np

from edgefl.learning.drifts import DRIFTS, Drift


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


HEALTHY = [
    *((DRIFTS.load(name), {}) for name in DRIFTS.members),
    *((DRIFTS.load(name), {"at_s": [60.0]}) for name in DRIFTS.members),
    *((DRIFTS.load(name)(at_round=[2, 3]), {}) for name in DRIFTS.members),
    (DRIFTS.load("labels"), {"shape": (5,), "classes": 3, "swap": [[0, 2]]}),
    (DRIFTS.load("rotation"), {"shape": (1, 4, 6), "quarter_turns": 2}),
]
BROKEN = [
    (Noisy, {}, "one of many", "Noisy.inputs returns other values for a sample when fewer samples are with it"),
    (Centred, {}, "one of many", "Centred.inputs returns other values for a sample"),
    (Sorted, {}, "one of many", "Sorted.labels returns other values for a sample"),
    (Wide, {}, "returns", "expected samples of the same type, float32"),
    (Flat, {}, "returns", "Flat.inputs returned an array [60, 64] of float32"),
    (InPlace, {}, "arguments", "InPlace.inputs changes its arguments in place"),
    (Beyond, {}, "returns", "from 1 to 10, expected finite numbers [60] at least 0 and at most 9"),
    (Nothing, {}, "changes", "override one of them"),
    (Refuses, {}, "returns", "Refuses.refusal returned 'needs audio' for samples"),
]
