import math

import numpy as np
import pytest

from channel import mcs, rate, units

# The efficiencies as TS 38.214 prints them beside modulation order and code rate.
PRINTED = {
    "64qam": """0.2344 0.3066 0.3770 0.4902 0.6016 0.7402 0.8770 1.0273 1.1758 1.3262 1.3281 1.4766 1.6953 1.9141
        2.1602 2.4063 2.5703 2.5664 2.7305 3.0293 3.3223 3.6094 3.9023 4.2129 4.5234 4.8164 5.1152 5.3320 5.5547""",
    "256qam": """0.2344 0.3770 0.6016 0.8770 1.1758 1.4766 1.6953 1.9141 2.1602 2.4063 2.5703 2.7305 3.0293 3.3223
        3.6094 3.9023 4.2129 4.5234 4.8164 5.1152 5.3320 5.5547 5.8906 6.2266 6.5703 6.9141 7.1602 7.4063""",
}


def best_scheme_bps_hz(snr, gap_db, table):
    """The staircase as a search through the table, for one number."""
    allowed = math.log2(1 + snr / 10 ** (gap_db / 10))
    return max([0.0, *(q * r / 1024 for q, r in mcs.TABLES[table] if q * r / 1024 <= allowed)])


def constellation_bits(order, snr):
    """Mutual information [bit/symbol] of 2^order-QAM over AWGN, by Gauss-Hermite quadrature of each quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(60)
    levels = np.arange(1.0 - 2 ** (order // 2), 2 ** (order // 2), 2.0)
    levels *= math.sqrt(snr / (2 * np.mean(levels**2)))  # noise of variance 1/2 a quadrature
    distance = nodes[:, None] + levels[:, None, None] - levels
    penalty = np.log2(np.exp(nodes[:, None] ** 2 - distance**2).sum(-1)) @ weights / math.sqrt(math.pi)
    return order - 2 * penalty.mean()


@pytest.mark.parametrize("table", ["64qam", "256qam"])
def test_rows(table):
    printed = [float(number) for number in PRINTED[table].split()]
    computed = [order * code_rate / 1024 for order, code_rate in mcs.TABLES[table]]
    np.testing.assert_allclose(computed, printed, rtol=0, atol=0.00005 + 1e-12)
    np.testing.assert_array_equal(mcs.Mcs(table=table).efficiencies_bps_hz, sorted(computed))
    assert len(printed) == {"64qam": 29, "256qam": 28}[table]


@pytest.mark.parametrize("table", ["64qam", "256qam"])
@pytest.mark.parametrize("gap_db", [0.0, 3.0, 4.8])
def test_staircase_against_a_search(table, gap_db):
    snr = 10 ** np.random.default_rng(1).uniform(-2, 4, 1_000)
    expected = [best_scheme_bps_hz(x, gap_db, table) for x in snr]
    np.testing.assert_array_equal(mcs.Mcs(gap_db, table).bps_hz(snr), expected)


@pytest.mark.parametrize("table", ["64qam", "256qam"])
def test_a_threshold_is_where_the_step_is(table):
    model = mcs.Mcs(table=table)
    steps = np.concatenate([[0.0], model.efficiencies_bps_hz])
    np.testing.assert_array_equal(model.bps_hz(model.thresholds), steps[1:])
    np.testing.assert_array_equal(model.bps_hz(model.thresholds * (1 - 1e-12)), steps[:-1])
    assert model.bps_hz(0.0) == 0
    assert model.bps_hz(1e30) == steps[-1]
    np.testing.assert_allclose(np.log2(1 + model.thresholds / 10**0.3), steps[1:], rtol=1e-12)


def test_a_staircase_lies_below_its_bound_and_follows_it():
    snr = np.geomspace(1e-3, 200, 3_000)
    for gap_db in (0.0, 3.0, 6.0):
        efficiency = mcs.Mcs(gap_db).bps_hz(snr)
        bound = rate.SHANNON.bps_hz(snr / units.db_to_linear(gap_db))
        assert np.all(efficiency <= bound + 1e-12)
        assert np.all(bound - efficiency < 0.344)  # the widest step, from 6.5703 to 6.9141


def test_no_scheme_beats_its_constellation():
    model = mcs.Mcs()  # the default gap
    for (order, code_rate), threshold in zip(mcs.TABLES["256qam"], model.thresholds, strict=True):
        assert constellation_bits(order, threshold) > order * code_rate / 1024
    # without a gap, 256QAM of rate 948/1024 would do better than 256QAM can
    assert constellation_bits(8, float(mcs.Mcs(0.0).thresholds[-1])) < 8 * 948 / 1024


@pytest.mark.parametrize("table", ["64qam", "256qam"])
def test_mean_over_rayleigh_fading(table):
    model = mcs.Mcs(table=table)
    draws = np.random.default_rng(2).standard_exponential(200_000)
    for s in 10.0 ** np.arange(-1, 5):
        # sum over the steps of efficiency times probability, a second way to write it
        edges = np.exp(-np.append(model.thresholds, np.inf) / s)
        exact = math.fsum(model.efficiencies_bps_hz * (edges[:-1] - edges[1:]))
        mean = rate.mean_rayleigh_bps_hz(model, s)
        assert mean == pytest.approx(exact, rel=1e-12)
        rates = model.bps_hz(s * draws)
        assert mean == pytest.approx(rates.mean(), abs=4 * rates.std() / math.sqrt(draws.size))
    np.testing.assert_array_equal(rate.mean_rayleigh_bps_hz(model, [[0.0, 1e-9]]), [[0.0, 0.0]])
    assert rate.mean_rayleigh_bps_hz(model, 1e20) == pytest.approx(model.efficiencies_bps_hz[-1])


def test_models_are_keys():
    assert len({mcs.Mcs(), mcs.Mcs(3.0), mcs.Mcs(4.0), mcs.Mcs(table="64qam")}) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcs.Mcs(-1.0), "snr_gap_db = -1.0"),
        (lambda: mcs.Mcs(table="1024qam"), 'table = "1024qam" is unknown: it must be one of 64qam, 256qam'),
    ],
)
def test_mcs_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
