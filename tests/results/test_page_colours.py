"""Colours of pages: legible text on light and dark grounds, and data that stand out from the dark one."""

import re
from itertools import product

import pytest

from edgefl.results.report.run import device_groups, wasted_energy
from edgefl.results.report.shared.resources import resource
from edgefl.results.report.shared.style import (
    COMPUTE,
    DARK,
    IDLE,
    INK,
    MUTED,
    RADIO_DOWN,
    RADIO_UP,
    RUN_COLOURS,
    contrast,
    on_page,
    relative_luminance,
    text_on,
)

TEXT = 4.5  # the least contrast of text, by the Web Content Accessibility Guidelines 2.2
GRAPHICS = 3.0  # of what must be seen to read a chart
DATA_COLOURS = {*RUN_COLOURS, *device_groups.GROUP_COLOURS, RADIO_DOWN, COMPUTE, RADIO_UP}
BARS = {*DATA_COLOURS, IDLE, wasted_energy.USED_COLOUR}
TEXTS = [
    *product(("ink", "muted"), ("ground", "card", "well", "warning", "bad")),
    *product(("accent", "good"), ("ground", "card")),
]


def pair(name):
    """The light and the dark value of a variable of the style sheet."""
    found = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", resource("shared/style.css"))
    light, dark = (colour if len(colour) == 7 else f"#{colour[1] * 6}" for colour in found.groups())
    return light, dark


def between(one, other):
    return contrast(relative_luminance(one), relative_luminance(other))


def test_contrast_is_that_of_the_guidelines():
    assert between("#000000", "#ffffff") == pytest.approx(21)
    assert between("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the well-known grey that just fails


@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_text_is_legible_where_it_stands(text, ground):
    for colour, behind in zip(pair(text), pair(ground), strict=True):
        assert between(colour, behind) >= TEXT


@pytest.mark.parametrize("colour", [INK, MUTED])
def test_text_of_charts_is_legible(colour):
    light, dark = pair("card")
    assert between(colour, light) >= TEXT
    assert between(DARK[colour], dark) >= TEXT


def test_charts_have_the_ink_and_the_cards_of_the_page():
    assert (INK, DARK[INK]) == pair("ink")
    assert ("#ffffff", DARK["#ffffff"]) == pair("card")


@pytest.mark.parametrize("colour", sorted(DATA_COLOURS))
def test_data_stand_out_from_the_dark_page(colour):
    assert between(DARK.get(colour, colour), pair("card")[1]) >= GRAPHICS


def test_runs_keep_colours_of_their_own_on_the_dark_page():
    assert len({DARK.get(colour, colour) for colour in RUN_COLOURS}) == len(RUN_COLOURS)


@pytest.mark.parametrize("colour", sorted(BARS))
def test_numbers_in_bars_are_legible(colour):
    light, dark = re.findall(r"#\w{6}", text_on(colour))
    assert between(light, colour) >= TEXT
    assert between(dark, DARK.get(colour, colour)) >= TEXT


def test_styles_have_both_colours():
    assert on_page("#0072b2") == f"light-dark(#0072b2,{DARK['#0072b2']})"
    assert on_page("#123456") == "light-dark(#123456,#123456)"
