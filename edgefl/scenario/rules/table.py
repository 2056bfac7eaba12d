"""The one ordered list of rules between sections."""

from __future__ import annotations

from edgefl.scenario.rules import forecasts, over_the_air, policies, population, radio_links, reports, sessions, shares
from edgefl.scenario.rules.rule import Rule

# Only the first broken rule is reported, so the order decides which one.
RULES: tuple[Rule, ...] = (
    *policies.SPLIT,
    *population.PARTICIPANTS,
    *shares.FIXED_OR_NOT,
    *policies.OVERLAPPING,
    *policies.DEVICE_EVALUATION,
    *population.MEMBERS,
    *population.CELLS,
    *forecasts.RECORDED,
    *radio_links.LINK_TRACE,
    *radio_links.BESIDE_LINK_TRACE,
    *radio_links.BACKGROUND,
    *radio_links.UPLINK,
    *forecasts.OPTIMISER,
    *forecasts.ALLOCATION,
    *over_the_air.SUMS_SERVER,
    *over_the_air.SUMS_LEARNING,
    *reports.SUMS_REPORT,
    *over_the_air.SUMS_RADIO,
    *reports.GEOMETRY,
    *population.HANDOVER,
    *radio_links.LARGE_SCALE,
    *radio_links.POWER_CONTROL,
    *population.COMPUTING,
    *population.BATTERIES,
    *policies.AGGREGATION,
    *reports.MEASURES,
    *policies.REDIVISION,
    *policies.DIRECT_LINKS,
    *reports.STORED_PLAYERS,
    *sessions.STORED_UPDATES,
    *population.DEPARTED_STATE,
    *sessions.SESSIONS,
    *sessions.KEPT_STATE,
    *sessions.SELECTION,
    *sessions.POLLED_TRAINING,
    *reports.POLLED_MODELS,
    *sessions.POLLED_REDIVISION,
    *forecasts.CSI,
    *policies.BACKHAUL,
)
