"""How well scores rank: area under the ROC curve, hit rate, NDCG (FedEve paper; He et al., WWW 2017, section 4.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Ids

Floats = npt.NDArray[np.floating]

CUTS = (5, 10)  # K of HR@K and NDCG@K


def ranking(scores: Floats, positive: Bools, group: Ids) -> dict[str, float]:
    """The columns test_auc, hr_5, ndcg_5, hr_10 and ndcg_10.

    Args:
        scores: [n] the higher, the likelier.
        positive: [n] whether a sample is one that should stand above the others of its group.
        group: [n] which samples are ranked together, as a user's; AUC knows no groups.
    """
    places = ranks(scores, positive, group)
    columns = {"test_auc": auc(scores, positive)}
    for k in CUTS:
        columns |= {f"hr_{k}": hit_rate(places, k), f"ndcg_{k}": ndcg(places, k)}
    return columns


def auc(scores: Floats, positive: Bools) -> float:
    """The chance that a positive sample has a higher score than a negative one, equal scores counting half.

    Mann and Whitney's U over the number of pairs. Of scores [n] and positive [n]; NaN where one kind is missing.
    """
    above, below = scores[positive], np.sort(scores[~positive])
    if not len(above) or not len(below):
        return float("nan")
    wins = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(wins.sum() / (2 * len(above) * len(below)))


def ranks(scores: Floats, positive: Bools, group: Ids) -> Ids:
    """The rank of each positive sample, from 1, among itself and the negative ones of its group.

    Negative samples of the same score count as higher: a model that tells nothing apart hits nothing, in whatever order
    samples stand. Of scores [n], positive [n] and group [n]; in the order of groups, [positives].
    """
    order = np.lexsort((positive, -scores, group))
    won, sorted_group = positive[order], group[order]
    higher = np.cumsum(~won)
    first = np.searchsorted(sorted_group, sorted_group[won])
    return np.asarray(1 + higher[won] - (higher - ~won)[first], dtype=np.int64)


def hit_rate(places: Ids, k: int) -> float:
    """HR@K: the part of the ranks [n] that are at most K."""
    return float(np.mean(places <= k))


def ndcg(places: Ids, k: int) -> float:
    """NDCG@K of ranks [n], one sought sample each: the mean of 1 / log2(rank + 1), 0 beyond K."""
    return float(np.mean(np.where(places <= k, 1 / np.log2(places + 1.0), 0.0)))
