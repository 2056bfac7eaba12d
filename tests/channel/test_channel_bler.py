"""Block error rates agree with the recorded ones of Sionna's link-level tables."""

import numpy as np
import pytest
from channel_validation import bler

from channel import link_adaptation, mcs
from channel.link_adaptation import awgn_block_error_rate, grid_db, nr_block_error_rate

SNR = 10 ** (grid_db() / 10)


@pytest.mark.oracle
def test_checks_of_the_table():
    """Distances and widths of every length; a third of a decibel more or less is noticed."""
    assert [check.name for check in bler.checks() if not check.ok] == []
    source = bler.TABLE.read_text(encoding="utf-8").splitlines()[0]
    assert "Sionna 2.2.0" in source
    assert "Apache-2.0" in source


@pytest.mark.oracle
def test_distances_against_a_search():
    """The recorded error rate is the library's at the SNR that lies the distance away."""
    found = bler.points()
    needed = 10 ** ((found.snr_db + bler.distance_db(found)) / 10)
    rates = nr_block_error_rate(found.efficiency_bps_hz, needed, found.bits / found.efficiency_bps_hz)
    np.testing.assert_allclose(rates, found.error_rate, atol=1e-3)


def test_the_points_are_of_every_kind():
    """All schemes that the tables have, on both sides of their falls."""
    found = bler.points()
    schemes = {name: [order * rate / 1024 for order, rate in table] for name, table in mcs.TABLES.items()}
    assert set(schemes["64qam"][3:]) | set(schemes["256qam"][2:]) == set(found.efficiency_bps_hz)
    for bits in (100, 500, 1000, 2000):
        rates = found.error_rate[found.bits == bits]
        assert min((rates < 0.1).sum(), (rates > 0.5).sum()) >= 10


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "value"),
    [("GAP_DB", 0.9), ("GAP_DB", 0.3), ("GAP_GROWTH_DB", 0.34), ("LENGTH_SHARE", 1.0), ("LENGTH_SHARE", 0.4)],
)
def test_the_points_tell_other_curves(name, value, monkeypatch):
    """So that agreement means something."""
    monkeypatch.setattr(link_adaptation, name, value)
    assert not all(check.ok for check in bler.checks())


def test_the_fitted_code_is_a_worse_and_shorter_best_code():
    """Half of the blocks are lost at the gap to capacity; the receiver's loss shifts the curve."""
    for efficiency in (0.25, 1.0, 7.0):
        gap_db = 0.6 + 0.54 * np.log2(1 + efficiency)
        capacity_snr = 2**efficiency - 1
        assert nr_block_error_rate(efficiency, 10 ** (gap_db / 10) * capacity_snr, 1000) == pytest.approx(0.5)
        curve = nr_block_error_rate(efficiency, SNR, 1000)
        np.testing.assert_allclose(curve, awgn_block_error_rate(efficiency, SNR, 700, gap_db))
        moved = nr_block_error_rate(efficiency, SNR * 10**0.25, 1000, implementation_loss_db=2.5)
        np.testing.assert_allclose(moved, curve)


def test_negative_lengths_and_rates_are_refused():
    with pytest.raises(ValueError, match=r"symbols = 0\.0"):
        nr_block_error_rate(1.0, 1.0, 0)
    with pytest.raises(ValueError, match=r"efficiency_bps_hz = 0\.0"):
        nr_block_error_rate(0.0, 1.0, 100)
