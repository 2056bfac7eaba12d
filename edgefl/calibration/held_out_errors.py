"""The errors on rows left out of a fit, as the keys `held_out` of `devices` and `radio` have them."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, get_args

from edgefl.calibration.comparison import Compared
from edgefl.world.held_out import NetworkKind

SMALLEST_SIGMA = 1e-4  # repeats that a log has to so many digits would leave nothing
Errors = tuple[float, int]  # sigma and numbers
Keyed = tuple[Hashable, Compared]
Law = TypeVar("Law")


@dataclass(frozen=True)
class HeldOutErrors:
    """Errors of a calibration's laws, each a sigma and how many numbers it comes from; those not known are left out."""

    compute: Mapping[str, Mapping[NetworkKind, Errors]]  # by type of device and kind of network
    power: Mapping[str, Errors]  # by type of device
    links: Mapping[str, Errors]  # by downlink and uplink


def held_out_errors(compared: Sequence[Compared], kinds: Mapping[str, NetworkKind], *, law: bool) -> HeldOutErrors:
    """Return the errors of the rows that were left out.

    Args:
        compared: predicted and measured numbers.
        kinds: of networks; a network without one counts for all kinds.
        law: whether a law predicts networks, whose rows then are one number each.
    """
    out = [number for number in compared if number.left_out and number.predicted > 0]
    compute: dict[str, dict[NetworkKind, Errors]] = {}
    power: dict[str, Errors] = {}
    for device in dict.fromkeys(number.row.type for number in out):
        own = [number for number in out if number.row.type == device]
        trained = [number for number in own if (number.row.phase, number.quantity) == ("train", "seconds")]
        by_kind: dict[NetworkKind, Sequence[Keyed]] = {
            kind: [
                (number.row.network if law else number.row.line, number)
                for number in trained
                if kinds.get(number.row.network, kind) == kind
            ]
            for kind in get_args(NetworkKind)
        }
        compute[device] = _errors(by_kind)
        drawn = [number for number in own if number.quantity == "joules"]
        power |= _errors({device: [((number.row.phase, number.row.network), number) for number in drawn]})
    sent = [number for number in out if number.quantity == "seconds"]
    links = {
        way: [(number.row.line, number) for number in sent if number.row.phase == phase]
        for phase, way in (("download", "downlink"), ("upload", "uplink"))
    }
    return HeldOutErrors(compute, power, _errors(links))


def _errors(of_law: Mapping[Law, Sequence[Keyed]]) -> dict[Law, Errors]:
    """Return the root mean square of ln(measured / predicted) by law, numbers with the same key as their mean.

    A single number tells no spread, so that its law is left out.
    """
    found = {}
    for law, keyed in of_law.items():
        logarithms: dict[Hashable, list[float]] = {}
        for key, number in keyed:
            logarithms.setdefault(key, []).append(math.log(number.measured / number.predicted))
        means = [math.fsum(of_key) / len(of_key) for of_key in logarithms.values()]
        if len(means) > 1:
            sigma = math.sqrt(math.fsum(mean**2 for mean in means) / len(means))
            found[law] = (max(sigma, SMALLEST_SIGMA), len(means))
    return found
