"""The mathematics of learning: one file an algorithm."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.algorithms.base import Algorithm, Batch, ForwardPass, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.wrapper import Wrapper

ALGORITHMS: Catalogue[Algorithm] = Catalogue(
    noun="algorithm",
    members=members_of(__file__),
    base=Algorithm,
    kind="algorithms",
)

__all__ = ["ALGORITHMS", "Algorithm", "Batch", "ForwardPass", "LocalContext", "RunInfo", "Updates", "Wrapper"]
