"""Files of block error rates: hand examples of isotonic regression, a second reading of the forms that tables have."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_blocks import raced
from radio_cases import link, transfers

import channel
from channel import link_columns
from channel.link_adaptation import LinkAdaptation, grid_db, nr_block_error_rate, tabulated
from edgefl.core.errors import InputError
from edgefl.radio.errors.bler_tables import LEAST_BLOCKS, read_curves
from edgefl.scenario import load
from edgefl.scenario.plausibility import implausible

HEADER = "mcs,snr_db,bler"
FALLING = ["0,-6,1", "0,-5,0.5", "0,-4,0"]


def write(tmp_path, rows, header=HEADER):
    path = tmp_path / "curves.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def radio_with(path, **errors):
    return {"errors": {"kind": "bler", "curves": str(path), **errors}, "rate": "mcs"}


def rows_of(error_rates, mcs=0, first_db=-6.0):
    return [f"{mcs},{first_db + place!r},{rate!r}" for place, rate in enumerate(error_rates)]


def at_points(path, count, first_db=-6.0):
    """The error rates of mcs 0 at the SNRs of `rows_of`."""
    curve = read_curves(path, 28, 0.1).of_schemes[0]
    return np.interp(first_db + np.arange(count), grid_db(), curve)


def refusal(path, **errors):
    with pytest.raises(InputError) as error:
        load({"radio": radio_with(path, **errors)})
    return str(error.value)


@pytest.mark.oracle
def test_curves_of_a_file_are_those_of_the_formula(tmp_path):
    """Written at every point of the grid, they give the same durations."""
    schemes = [order * rate / 1024 for order, rate in channel.mcs.TABLES["256qam"]]
    rows = []
    for index, efficiency in enumerate(schemes):
        curve = nr_block_error_rate(efficiency, 10 ** (grid_db() / 10), 1000)
        rows += [f"{index},{db!r},{rate!r}" for db, rate in zip(grid_db().tolist(), curve.tolist(), strict=True)]
    of_file = link(**radio_with(write(tmp_path, rows)), bandwidth_hz=1e6)
    of_formula = link(errors="bler", rate="mcs", bandwidth_hz=1e6)
    ids = [1, 2, 3]
    for left, right in zip(transfers(of_file, ids, 1e5), transfers(of_formula, ids, 1e5), strict=True):
        assert np.array_equal(left.duration_s, right.duration_s)


# Noise


@pytest.mark.parametrize(
    ("found", "smoothed"),
    [
        ([1.0, 0.5, 0.01], [1.0, 0.5, 0.01]),
        ([1.0, 0.40, 0.46, 0.05], [1.0, 0.43, 0.43, 0.05]),
        ([1.0, 0.50, 0.45, 0.52, 0.47, 0.0], [1.0, 0.50, 0.485, 0.485, 0.47, 0.0]),
        ([1.0, 0.40, 0.42, 0.44, 0.0], [1.0, 0.42, 0.42, 0.42, 0.0]),  # the last pair pulls the first one along
        ([0.9967, 1.0, 0.3, 0.0, 0.001, 0.0], [0.99835, 0.99835, 0.3, 0.0005, 0.0005, 0.0]),
    ],
)
def test_rises_by_noise_become_means_of_their_neighbours(tmp_path, found, smoothed):
    """Adjacent violators pooled by hand."""
    path = write(tmp_path, rows_of(found))
    assert at_points(path, len(found)) == pytest.approx(smoothed, abs=1e-12)


def test_a_falling_curve_is_taken_as_it_is(tmp_path):
    rates = [1.0, 0.7, 0.7, 0.1234567890123, 1e-5, 0.0]
    curve = read_curves(write(tmp_path, rows_of(rates)), 28, 0.1).of_schemes[0]
    assert np.array_equal(curve, tabulated([-6.0, -5.0, -4.0, -3.0, -2.0, -1.0], rates))


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), blocks=st.integers(300, 3000), slope=st.floats(0.5, 4.0))
def test_simulated_curves_are_smoothed_and_keep_their_sum(tmp_path_factory, seed, blocks, slope):
    """Of 300 blocks or more a point and a law that falls, none is refused; pooling conserves the sum of all rates."""
    law = 1 / (1 + np.exp(slope * (np.arange(16) - 8.0)))
    found = np.random.default_rng(seed).binomial(blocks, law) / blocks
    found[0] = 1.0
    found[-1] = 0.0
    path = write(tmp_path_factory.mktemp("curves"), rows_of(found.tolist()))
    smoothed = at_points(path, 16)
    assert (np.diff(smoothed) <= 1e-12).all()
    assert smoothed.sum() == pytest.approx(found.sum(), abs=1e-9)


def test_rises_beyond_noise_are_refused_with_their_line(tmp_path):
    """After 0 comes x: their mean m is x / 2, off by x / 2, and three standard errors are
    `3 sqrt(m (1 - m) / N)`."""
    limit = 2 * 9 / (9 + LEAST_BLOCKS)  # where x / 2 = 3 sqrt(x / 2 (1 - x / 2) / N)
    read_curves(write(tmp_path, rows_of([1.0, 0.0, 0.99 * limit, 0.0])), 28, 0.1)
    text = refusal(write(tmp_path, rows_of([1.0, 0.0, 0.5, 0.0])))
    assert "curves.csv:4: mcs 0 has an error rate of 0.5 at -4 dB" in text
    assert "falls through all its points 0.25: the noise of 100 simulated blocks explains less" in text
    assert "explains less" in refusal(write(tmp_path, rows_of([1.0, 0.0, 1.01 * limit, 0.0])))


def test_points_count_by_their_blocks_if_the_file_gives_them(tmp_path):
    """Adaptive simulations stop at some errors; 20 and 180 blocks have the mean (20 x 0.3 + 180 x 0.5) / 200."""
    header = "mcs,tbs,snr_db,bler,n_blocks,n_errors"
    cells = ["0,32,-6,1,50,50", "0,32,-5,0.3,20,6", "0,32,-4,0.5,180,90", "0,32,-3,0,1000,0"]
    path = write(tmp_path, cells, header)
    assert at_points(path, 4) == pytest.approx([1.0, 0.48, 0.48, 0.0])
    many = write(tmp_path, [cells[0], "0,32,-5,0.3,2000,600", *cells[2:]], header)
    assert "the noise of 180 simulated blocks explains less" in refusal(many)
    assert "n_blocks: must be from 1 to inf, got 0" in refusal(write(tmp_path, ["0,1,-6,1,0,0"], header))


def test_a_curve_of_the_wrong_sign_is_refused(tmp_path):
    assert "are columns or signs exchanged?" in refusal(write(tmp_path, rows_of([0.0, 0.01, 0.3, 0.9, 1.0])))


def test_expected_transmissions_are_the_hand_sum_over_the_smoothed_curve(tmp_path):
    """At -3.5 dB, and at two, three and four times as much: `1 + B(s) + B(2 s) + B(3 s)`, to four standard errors."""
    path = write(tmp_path, rows_of([1.0, 0.58, 0.62, 0.3, 0.0], first_db=-4.0))
    of = load({"radio": radio_with(path)}).radio
    adaptation = of.errors.link_adaptation(of.rate)
    slots = 320_000
    found = raced(adaptation, np.full(slots, 10 ** (-0.35)), 2)
    first = found[link_columns.FIRST_SENT]
    # Smoothed, the curve has 1 at -4 dB, 0.6 at -3 and -2, 0.3 at -1 and 0 at 0 dB. The sums are at -0.490, +1.27 dB.
    transmissions = 1 + 0.8 + 0.3 * 0.490
    error = 4 * 0.7 / math.sqrt(slots / transmissions)
    assert slots / first == pytest.approx(transmissions, abs=error)
    assert found[link_columns.FIRST_LOST] / first == pytest.approx(0.8, abs=error)


# Schemes that link adaptation cannot use


def test_schemes_that_never_reach_the_target_are_left_out_with_one_line(tmp_path):
    rows = [*FALLING, *rows_of([1.0, 0.3], mcs=1), *rows_of([1.0, 0.2], mcs=2)]
    scenario = load({"radio": radio_with(write(tmp_path, rows))})
    adaptation = scenario.radio.errors.link_adaptation(scenario.radio.rate)
    assert adaptation.efficiencies_bps_hz == pytest.approx([2 * 120 / 1024])
    (line,) = implausible(scenario)
    text = "left out, as the error rate never falls to the target 0.1: mcs 1 (0.3 at -5 dB), mcs 2 (0.2 at -5 dB)"
    assert line == f"radio.errors.curves: {text}"
    reached = load({"radio": radio_with(write(tmp_path, rows), target=0.25)})
    assert reached.radio.errors.link_adaptation(reached.radio.rate).efficiencies_bps_hz.size == 2


def test_schemes_below_the_target_from_their_first_point_on_are_left_out(tmp_path):
    """Beyond its first point a curve is constant, so such a scheme would be chosen at any SNR."""
    path = write(tmp_path, ["0,0.0,0.0", *rows_of([1.0, 0.02], mcs=3)])
    curves = read_curves(path, 28, 0.1)
    assert list(curves.of_schemes) == [3]
    assert curves.warnings == ("left out, as the first error rate is not above the target 0.1: mcs 0 (0 at 0 dB)",)


def test_a_file_without_a_usable_scheme_is_refused(tmp_path):
    text = refusal(write(tmp_path, ["3,-5,1", "3,5,0.5"]))
    assert "curves.csv: no curve falls from above the target 0.1 to it or below: mcs 3 (0.5 at 5 dB)" in text


def test_a_lowest_curve_that_lets_blocks_through_at_any_snr_is_a_warning(tmp_path):
    (line,) = read_curves(write(tmp_path, ["0,-6,0.93", "0,-5,0.01"]), 28, 0.1).warnings
    assert line == "mcs 0 loses 0.93 of all blocks at -6 dB and at any lower SNR: add a point with an error rate of 1"


# Forms


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (HEADER, ["0,-6,1", "1,-6,1", "0,-5,0.5", "1,-5,1", "0,-4,0", "1,-4,0.05"]),  # sorted by SNR
        (HEADER, ["1,-4,0.05", "1,-5,1", "1,-6,1", "0,-4,0", "0,-5,0.5", "0,-6,1"]),  # descending
        ("MCS,SNR [dB],BLER", [*FALLING, "1,-6,1", "1,-5,1", "1,-4,0.05"]),
        ("Block Error Rate,SINR_dB,blocks,mcs index", ["1,-6,9,0", ".5,-5,9,0", "0,-4,9,0", "1,-5,9,1", ".05,-4,9,1"]),
        (HEADER, ["0.0,-6,1", "0.0,-5,0.5", "0.0,-4,0", "1.0,-5.5,1", "1.0,-5,1", "1.0,-4,0.05"]),  # another grid
        (HEADER, ["0,-6,1", "0,-5,0.48", "0,-5,0.52", "0,-4,0", "1,-5,1", "1,-4,0.05"]),  # an SNR twice
        ("mcs,cbs,snr_db,bler", ["0,24,-6,1", "0,24,-5,0.5", "0,24,-4,0", "1,32,-5,1", "1,32,-4,0.05"]),
    ],
)
def test_tables_in_other_forms_have_the_same_curves(tmp_path, header, rows):
    curves = read_curves(write(tmp_path, rows, header), 28, 0.1).of_schemes
    assert list(curves) == [0, 1]
    np.testing.assert_allclose(curves[0], tabulated([-6.0, -5.0, -4.0], [1.0, 0.5, 0.0]))
    np.testing.assert_allclose(curves[1], tabulated([-5.0, -4.0], [1.0, 0.05]))


def test_gaps_between_schemes_keep_the_efficiencies_of_their_indices(tmp_path):
    scenario = load({"radio": radio_with(write(tmp_path, [*rows_of([1.0, 0.0], mcs=5), *rows_of([1.0, 0.0], mcs=1)]))})
    adaptation = scenario.radio.errors.link_adaptation(scenario.radio.rate)
    assert adaptation.efficiencies_bps_hz == pytest.approx([2 * 193 / 1024, 4 * 378 / 1024])


WRONG = {
    "percent": (HEADER, ["0,-5,93.5"], ":2: bler must lie from 0 to 1, got 93.5: divide percent by 100"),
    "text": (HEADER, ["0,-5,1", "0,x,0.1"], ':3: snr_db: must be a number, got "x"'),
    "nan": (HEADER, ["0,nan,1"], ':2: snr_db: must be a number, got "nan"'),
    "half a scheme": (HEADER, ["0.5,-5,1"], ":2: mcs must be an index of radio.rate.table, from 0 to 27, got 0.5"),
    "another header": ("a,b,c", ["0,-5,1"], ':1: has no columns mcs, snr_db, bler; it has "a", "b", "c": if these'),
    "no header": ("0,-5,1", ["0,-4,0.5"], '; it has "0", "-5", "1": write mcs,snr_db,bler above its rows'),
    "cqi": ("cqi,snr_db,bler", ["1,-6,1"], ": indices of CQI are not those of radio.rate.table: write as mcs"),
    "counts, as of OpenAirInterface": (
        "SNR; MCS; TBS; err0; trials0",
        ["-6;0;1;9;9"],
        ": write err0 / trials0 as bler",
    ),
    "energy of a bit": ("mcs,Eb/N0 (dB),bler", ["1,-6,1"], ": Eb/N0 (dB) is the energy of a bit, not of a symbol"),
    "bit errors": ("mcs,snr,BER", ["1,-6,1"], ": BER counts bits: a table needs the share of blocks that are lost"),
    "float beyond 1": (HEADER, ["0,-5,1.00001"], ":2: bler must lie from 0 to 1, got 1.00001"),
    "block sizes": (
        "mcs,CBS,snr_db,bler",
        ["3,24,-6,1", "3,24,-5,0.1", "3,100,-5.5,1"],
        ":4: mcs 3 has blocks of 24 and of 100 bits: keep the rows of one size",
    ),
    "twice": (
        "mcs,channel,snr_db,bler",
        ["3,AWGN,-6,1", "3,AWGN,-5,0.1", "3,TDL-A,-5,0.9"],
        ":4: mcs 3 has an error rate of 0.9 at -5 dB, and 0.1 in line 3: keep the rows of one value of channel",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_curves_are_refused_with_their_line(tmp_path, case):
    header, rows, text = WRONG[case]
    path = write(tmp_path, rows, header)
    assert f"radio.errors: curves: {path}:" in refusal(path)
    assert text in refusal(path)


@pytest.mark.parametrize("rounded", ["1.0000001", "1"])
def test_error_rates_that_rounding_takes_beyond_their_limits_are_the_limits(tmp_path, rounded):
    assert at_points(write(tmp_path, [f"0,-6,{rounded}", "0,-5,0.5", "0,-4,-1e-17"]), 3).tolist() == [1.0, 0.5, 0.0]


def test_ratios_in_a_column_of_decibels_are_told(tmp_path):
    """A scheme at 20 dB: 100 as a ratio."""
    in_db = write(tmp_path, rows_of([1.0, 0.5, 0.0], first_db=19.0))
    assert read_curves(in_db, 28, 0.1).warnings == ()
    ratios = write(tmp_path, [f"0,{10 ** (db / 10):.6g},{rate}" for db, rate in ((19, 1), (20, 0.5), (20.5, 0))])
    (line,) = read_curves(ratios, 28, 0.1).warnings
    assert line == "mcs 0 needs 112.202 dB: write 10 log10(SNR) if the file has ratios"


def test_a_file_is_read_again_after_a_change(tmp_path):
    path = write(tmp_path, FALLING)
    before = LinkAdaptation(np.ones(1), np.stack(list(read_curves(path, 28, 0.1).of_schemes.values()))).thresholds_db
    write(tmp_path, [*rows_of([1.0, 0.5, 0.0], first_db=4.0)])
    after = LinkAdaptation(np.ones(1), np.stack(list(read_curves(path, 28, 0.1).of_schemes.values()))).thresholds_db
    assert after - before == pytest.approx([10.0])
