"""edgefl.testing.check_csi: shipped kinds pass, and mistakes are found."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from edgefl.coordination.csi import CSI
from edgefl.coordination.csi.base import Csi, Gains, ReportedCsi, RequestedCsi
from edgefl.testing import ConformanceError, check, check_csi


@pytest.mark.parametrize("name", CSI.members)
def test_shipped_kinds_pass(name: str) -> None:
    assert check_csi(CSI.load(name)).ok
    assert check(CSI.load(name)).ok


class Quantised(RequestedCsi):
    """Whole decibels (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return the strength in steps of 1 dB."""
        strength = gains.path_gain * gains.fading
        return gains._replace(path_gain=10 ** (np.rint(10 * np.log10(strength)) / 10), fading=np.ones(len(gains.ids)))


class Relative(ReportedCsi):
    """Relative to the best (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return what depends on others."""
        return gains._replace(path_gain=gains.path_gain / gains.path_gain.max())


class InDecibels(RequestedCsi):
    """Decibels, which are below 0 (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return no ratios."""
        return gains._replace(path_gain=10 * np.log10(gains.path_gain))


class Telling(RequestedCsi):
    """Tells the fading while it says that it does not (test)."""

    instantaneous: ClassVar[bool] = False


class Exact(RequestedCsi):
    """Has no error, whatever it is asked for (test)."""

    def disturbed(self, gains: Gains, normal: np.ndarray) -> Gains:
        """Return what it was given."""
        return gains


class Plain(RequestedCsi):
    """Returns a tuple (test)."""

    def observe(self, gains: Gains) -> Any:
        """Return no Gains."""
        return (gains.path_gain, gains.fading)


def test_a_kind_from_outside_passes() -> None:
    assert check_csi(Quantised, noise_db=2).ok


@pytest.mark.parametrize(
    ("kind", "keys", "found"),
    [
        (Relative, {}, "one of many"),
        (InDecibels, {}, "expected finite numbers"),
        (Telling, {}, "while only the fading|besides 1"),
        (Exact, {"noise_db": 3}, "noise_db = 3"),
        (Plain, {}, "expected the Gains"),
    ],
)
def test_faults_of_channel_reports_are_found(kind: type[Csi], keys: dict[str, Any], found: str) -> None:
    with pytest.raises(ConformanceError, match=found):
        check_csi(kind, **keys)
