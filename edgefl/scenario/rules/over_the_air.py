"""Rules about uplinks that deliver only the sum of the updates."""

from edgefl.scenario.facts import radio
from edgefl.scenario.rules import features
from edgefl.scenario.rules.features import SUMS
from edgefl.scenario.rules.rule import Feature

NOT_MODELLED = ("trace", "large_scale", "faults", "errors", "interference", "background", "access_s")
"""Keys of `radio` about transfers, which do not apply to analog updates."""

SUMS_SERVER = (
    features.NOT_AT_ONCE.excludes(
        SUMS, "under the policy {policy} participants do not all send at once, as radio.uplink: {uplink} requires"
    ),
    features.UPDATE_REPORTS.excludes(
        SUMS, "needs a report from each device, but radio.uplink: {uplink} delivers a sum"
    ),
    features.CSI.excludes(SUMS, "forecasts uploads one by one, but radio.uplink: {uplink} delivers their sum"),
    features.DEVICE_EVALUATION.excludes(
        SUMS, "needs an answer from each device, but radio.uplink: {uplink} delivers a sum"
    ),
    features.HANDOVER.excludes(SUMS, "is not modelled with radio.uplink: {uplink}"),
)

SUMS_LEARNING = (
    features.MORE_THAN_MEAN.excludes(
        SUMS, "{algorithm} needs more of the updates than a mean, which is all that radio.uplink: {uplink} delivers"
    ),
    features.CODEC.excludes(
        SUMS, "radio.uplink: {uplink} adds up updates as they are, and compressed ones cannot be added"
    ),
    features.DROPPED_STRAGGLERS.excludes(SUMS, "updates that radio.uplink: {uplink} has added up cannot be dropped"),
)

SUMS_RADIO = (
    *(
        Feature(f"radio.{key}", radio.is_set(key)).excludes(SUMS, "is not modelled with radio.uplink: {uplink}")
        for key in NOT_MODELLED
    ),
    features.ENERGY_OF_BITS.excludes(
        SUMS, "with radio.uplink: {uplink} updates are sent as analog values, not as bits"
    ),
    features.CHANGING_SHARES.excludes(
        SUMS, "with radio.uplink: {uplink} all participants send at once, on the whole band"
    ),
    features.SLOT_DIRECTIONS.excludes(SUMS, "with radio.uplink: {uplink} slots have no directions"),
    features.POWER_CONTROL.excludes(SUMS, "radio.uplink: {uplink} sets transmit powers itself, up to tx_power_dbm"),
)
