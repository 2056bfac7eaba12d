"""Measures of rankings: area under the ROC curve, hit rate, NDCG (FedEve paper; He et al., WWW 2017, section 4.1)."""

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Ids, Ints

Scores = npt.NDArray[np.floating]  # of single precision too

CUTS = (5, 10)  # K of HR@K and NDCG@K


def ranking(scores: Scores, positive: Bools, group: Ids, *, strict_auc: bool = False) -> dict[str, float]:
    """Return the columns test_auc, hr_5, ndcg_5, hr_10 and ndcg_10, and on request test_auc_strict.

    Args:
        scores: [n] the higher, the likelier.
        positive: [n] true for a sample that should stand above the others of its group.
        group: [n] samples of the same group, as of a user, are ranked together; AUC knows no groups.
        strict_auc: return test_auc_strict, too.
    """
    places = ranks(scores, positive, group)
    columns = {"test_auc": auc(scores, positive)}
    for k in CUTS:
        columns[f"hr_{k}"] = hit_rate(places, k)
        columns[f"ndcg_{k}"] = ndcg(places, k)
    if strict_auc:
        columns["test_auc_strict"] = auc(scores, positive, strict=True)
    return columns


def auc(scores: Scores, positive: Bools, *, strict: bool = False) -> float:
    """Return the chance that a positive sample has a higher score than a negative one, equal scores counting half.

    Mann and Whitney's U over the number of pairs; NaN if all samples are positive, or all negative. With `strict` equal
    scores count nothing, as the FedEve paper prints it (appendix B.1).
    """
    of_positive = scores[positive]
    of_negative = np.sort(scores[~positive])
    if not len(of_positive) or not len(of_negative):
        return float("nan")
    # A search from the left finds how many negative scores are lower, one from the right how many are not higher: their
    # sum counts each pair twice, and each pair of equal scores once.
    lower = np.searchsorted(of_negative, of_positive, "left")
    not_higher = lower
    if not strict:
        not_higher = np.searchsorted(of_negative, of_positive, "right")
    wins = lower + not_higher
    return float(wins.sum() / (2 * len(of_positive) * len(of_negative)))


def ranks(scores: Scores, positive: Bools, group: Ids) -> Ints:
    """Return the rank of each positive sample, from 1, among itself and the negative ones of its group.

    Negative samples of the same score count as higher: a model that tells nothing apart hits nothing, in whatever order
    samples stand.

    Returns:
        [positives], in the order of groups.
    """
    # by group, in it by falling score, and of equal scores the negative samples first
    order = np.lexsort((positive, -scores, group))
    is_positive = positive[order]
    sorted_group = group[order]
    negatives_so_far = np.cumsum(~is_positive)  # over all groups
    negatives_before_sample: Ints = negatives_so_far - ~is_positive
    first_of_group = np.searchsorted(sorted_group, sorted_group[is_positive])
    higher: Ints = negatives_so_far[is_positive] - negatives_before_sample[first_of_group]
    return np.asarray(1 + higher, dtype=np.int64)


def hit_rate(places: Ints, k: int) -> float:
    """Return HR@K: the part of the ranks [n] that are at most K."""
    return float(np.mean(places <= k))


def ndcg(places: Ints, k: int) -> float:
    """Return NDCG@K of ranks [n], one sought sample each: the mean of 1 / log2(rank + 1), 0 beyond K."""
    return float(np.mean(np.where(places <= k, 1 / np.log2(places + 1.0), 0.0)))
