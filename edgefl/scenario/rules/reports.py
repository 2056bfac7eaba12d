"""Rules about what is reported: measures that a run cannot make."""

from __future__ import annotations

from edgefl.scenario.facts import learning, radio, server
from edgefl.scenario.rules.remedies import NO_OVERLAP, NO_TRACE, PLAIN_AVERAGING, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

SUMS_REPORT = (
    Rule(
        "report.contributions",
        (radio.uploads_add_up, learning.reports_contributions),
        "needs each update, and radio.uplink: {uplink} brings a sum",
        (leave_out("report.contributions"), NO_OVERLAP),
    ),
)

GEOMETRY = (
    Rule(
        "report.geometry",
        (learning.reports_geometry, radio.links_are_recorded),
        "needs path losses, and links were recorded",
        (set_to("report.geometry", value=False), NO_TRACE),
    ),
)

MEASURES = (
    Rule(
        "report.contributions",
        (learning.reports_contributions, server.updates_stay_apart),
        "under the policy {policy} the updates of a round are not aggregated together",
        (leave_out("report.contributions"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "report.device_losses",
        (learning.reports_device_losses, server.updates_stay_apart),
        "under the policy {policy} a round has no one model that its participants make",
        (leave_out("report.device_losses"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "report.device_losses",
        (learning.reports_device_losses, learning.redivides),
        "is about samples that devices keep, and data.redivide gives them others in every round",
        (leave_out("report.device_losses"), leave_out("data.redivide")),
    ),
    Rule(
        "report.device_losses",
        (learning.reports_device_losses, learning.uploads_no_move),
        "the server does not know local models, as {algorithm} uploads no move of the model",
        (leave_out("report.device_losses"), PLAIN_AVERAGING),
    ),
)

STORED_PLAYERS = (
    Rule(
        "report.contributions.players",
        (learning.reports_contributions_of_all, learning.keeps_no_updates),
        "all needs an algorithm whose server keeps each device's last update (fedar, fedvarp, mifa with state server)",
        (set_to("report.contributions.players", "participants"),),
    ),
)

POLLED_MODELS = (
    Rule(
        "report.models",
        (server.polls_training, learning.reports_models),
        "the selection {selection} lets devices train that are not chosen, which would change their last models",
        (leave_out("report.models"), leave_out("server.selection")),
    ),
)
