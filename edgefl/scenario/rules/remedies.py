"""Remedies of several rules."""

from edgefl.scenario.facts import server
from edgefl.scenario.rules.rule import OUT, Remedy, leave_out, set_to

# A policy with a deadline keeps it: other sections may depend on it.
ROUNDS_TOGETHER = (
    set_to("server.policy", "synchronous", offered=server.has_no_deadline),
    set_to("server.policy", "deadline", offered=server.has_deadline),
)
"""Let all participants of a round begin together, and train one model."""

ALL_AT_ONCE = (
    set_to("server.policy", "synchronous", offered=server.has_no_deadline),
    Remedy({"server.policy": "synchronous", "server.deadline_s": OUT}, offered=server.has_deadline),
)
"""Let the server wait for all participants of a round, too."""

NO_CSI = (
    leave_out("server.csi", offered=server.selection_needs_no_csi),
    Remedy({"server.csi": OUT, "server.selection": OUT}, offered=server.selection_needs_csi),
)
"""Let the server know nothing about channels; rules about other features that need them come first."""

RELAYED = set_to("server.policy.links", "relayed")
BATTERY = set_to(
    "devices.battery", {"capacity_j": 1000.0}, "set devices.battery", offered=server.batteries_are_modelled
)
NO_TRACE = leave_out("radio.trace")
NO_OVERLAP = set_to("radio.uplink", "orthogonal")
PLAIN_AVERAGING = set_to("algorithm", "fedavg")
