"""Server policies, which decide when rounds begin and end: one file a policy; `base.py` says how to write one."""

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.core.catalogue import Catalogue, members_of

POLICIES: Catalogue[Policy] = Catalogue(
    noun="server policy",
    members=members_of(__file__),
    base=Policy,
    kind="policies",
    unlisted=["edgefl.flower.policy:FlowerApp"],  # in the results of `edgefl flower`
)

__all__ = ["POLICIES", "Coordinator", "Policy"]
