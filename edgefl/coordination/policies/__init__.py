"""Server policies, which decide when rounds begin and end: one file a policy; `base.py` says how to write one."""

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.core.catalogue import Catalogue

POLICIES: Catalogue[Policy] = Catalogue(
    noun="server policy",
    members={
        "synchronous": "edgefl.coordination.policies.synchronous:Synchronous",
        "deadline": "edgefl.coordination.policies.deadline:Deadline",
        "over_selection": "edgefl.coordination.policies.over_selection:OverSelection",
        "buffered": "edgefl.coordination.policies.buffered:Buffered",
        "asynchronous": "edgefl.coordination.policies.asynchronous:Asynchronous",
        "sequential": "edgefl.coordination.policies.sequential:Sequential",
        "split": "edgefl.coordination.policies.split:Split",
        "hierarchical": "edgefl.coordination.policies.hierarchical:Hierarchical",
    },
    base=Policy,
    kind="policies",
    unlisted=["edgefl.flower.policy:FlowerApp"],  # in the results of `edgefl flower`
)

__all__ = ["POLICIES", "Coordinator", "Policy"]
