"""Whether unequal shares of a link explain that clients do not end together (docs/validation.md).

    python benchmarks/unequal_shares.py

E2FL's three clients download one model at the same time. With equal shares all end at once; measured, the first is
done after 40 to 99 % of the last one's time. Here each client has a weight, drawn for each download from a lognormal
distribution, and gets the link in proportion to it among those that still download. Its one number, sigma, is fitted to
the mean over downloads of mean over last end; the other figures are predictions.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import edgefl

MEASURED = Path(edgefl.__file__).parent / "reproductions" / "published" / "e2fl-downloads.csv"
DRAWS = 200_000


def ends(weights):
    """Return when equal downloads [n, 3] end that share a link by weights [n, 3], in parts of the last one's end."""
    left = np.ones_like(weights)
    found = np.zeros_like(weights)
    now = np.zeros(len(weights))
    for _ in range(weights.shape[1]):
        under_way = left > 1e-12
        rates = np.where(under_way, weights, 0.0)
        rates = rates / rates.sum(axis=1, keepdims=True)
        needed = np.divide(left, rates, out=np.full_like(left, np.inf), where=under_way)
        step = needed.min(axis=1)
        next_one = needed.argmin(axis=1)
        now = now + step
        left = left - rates * step[:, None]
        rows = np.arange(len(weights))
        left[rows, next_one] = 0.0
        found[rows, next_one] = now
    return np.sort(found / now[:, None], axis=1)


def main():
    with MEASURED.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    measured = np.array([[float(row[name]) for name in ("first_s", "second_s", "last_s")] for row in rows])
    measured = measured / measured[:, 2:]
    normal = np.random.default_rng(1).standard_normal((DRAWS, 3))

    def miss(sigma):
        return ends(np.exp(sigma * normal)).mean() - measured.mean()

    sigma = brentq(miss, 0.05, 3.0, xtol=1e-3)
    drawn = ends(np.exp(sigma * normal))
    print(f"sigma fitted to the mean end of {len(rows)} downloads of three clients: {sigma:.2f}\n")
    print(f"{'end, as a part of the last one':32s} measured  equal shares  unequal shares")
    named = (
        ("first client, mean", 0, np.mean),
        ("first client, deviation", 0, np.std),
        ("second client, mean", 1, np.mean),
    )
    for name, place, statistic in named:
        equal = 1.0 if statistic is np.mean else 0.0
        print(f"{name:32s} {statistic(measured[:, place]):8.2f} {equal:13.2f} {statistic(drawn[:, place]):15.2f}")
    print(f"{'mean of the three (fitted)':32s} {measured.mean():8.2f} {1.0:13.2f} {drawn.mean():15.2f}")
    errors = 1 / measured.mean(axis=1) - 1
    fitted = drawn.mean() / measured.mean(axis=1) - 1
    print(f"\nmean download, error of a single one: {100 * np.abs(errors).mean():.1f} % with equal shares,", end=" ")
    print(f"{100 * np.abs(fitted).mean():.1f} % with unequal ones; the last download is the same with both")


if __name__ == "__main__":
    main()
