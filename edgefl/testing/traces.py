"""The check of recorded links."""

from typing import Any

import numpy as np

from channel.link_traces import Opportunities, SnrSteps, Steps
from edgefl.radio.traces import LinkTrace, Recording
from edgefl.radio.traces.base import HIGHEST_BPS, LARGEST_SNR_DB
from edgefl.testing.calls import Calls, kind
from edgefl.testing.report import Check, Report

METHOD = "recordings"
PARTS = 7  # of a recording, at whose borders transfers begin and end
ROUNDING = 1e-6  # of the time that an amount takes


def check_traces(trace: type[LinkTrace] | LinkTrace, **keys: Any) -> Report:
    """Check that recorded links are possible ones, and return the report."""
    calls = Calls(trace, keys, LinkTrace, "recorded links")
    subject = calls.subject
    carries = calls.begin("carries", "in each direction some link carries something")
    takes = calls.begin("takes", "an amount takes as long as the link takes to carry it")
    begins = calls.begin("begins", "the run begins within the recordings")
    if not subject.source:
        calls.wrong("source", "is empty, expected what messages call the recordings")
    with calls.noting("reading the recordings"):
        found = calls.of(METHOD)
        _check_form(calls, found)
        _check_links(calls, carries, takes, found)
        shortest_s = min(min(each.down.end_s, each.up.end_s) for each in found)
        if subject.at_end == "error" and subject.begin_s >= shortest_s:
            text = f"begin_s = {subject.begin_s:g} s is not before the end of the shortest, {shortest_s:g} s"
            begins.fault(f"{type(subject).__name__}: {text}: lower it, or set at_end to repeat")
    return calls.finished()


def _check_form(calls: Calls[LinkTrace], found: Any) -> None:
    if not isinstance(found, list) or not found:
        got = "an empty list" if found == [] else kind(found)
        calls.reject(METHOD, f"returned {got}, expected a list of Recording, one or more")
    kinds = set()
    for number, each in enumerate(found):
        if not isinstance(each, Recording) or not isinstance(each.name, str):
            calls.reject(METHOD, f"returned {kind(each)} as number {number}, expected a Recording with a name")
        both: tuple[Any, Any] = (each.down, each.up)
        for recorded in both:
            if not isinstance(recorded, Steps | Opportunities | SnrSteps):
                text = f"returned a recording {number} with {kind(recorded)}, expected Steps, Opportunities or SnrSteps"
                calls.reject(METHOD, text)
            kinds.add(isinstance(recorded, SnrSteps))
    if len(kinds) > 1:
        calls.reject(METHOD, "returned both rates and SNRs: return only rates, or only SNRs")


def _check_links(calls: Calls[LinkTrace], carries: Check, takes: Check, found: list[Recording]) -> None:
    for way in ("down", "up"):
        links = [getattr(each, way) for each in found]
        if all(isinstance(link, SnrSteps) for link in links):
            largest_db = max(np.abs(link.snr_db).max() for link in links)
            if largest_db > LARGEST_SNR_DB:
                text = f"returned an SNR of {largest_db:g} dB in size, expected at most {LARGEST_SNR_DB:g} dB"
                calls.wrong(METHOD, text)
            continue
        if not any(link.total > 0 for link in links):
            calls.note(carries, METHOD, f"returned {way}links that carry nothing at any time")
        for number, link in enumerate(links):
            highest_bps = link.total / link.end_s
            if isinstance(link, Steps):
                highest_bps = link.rate.max()
            if highest_bps > HIGHEST_BPS:
                text = f"returned {highest_bps:.3g} bit/s in recording {number}: at most {HIGHEST_BPS:g}"
                calls.wrong(METHOD, f"{text}; are these bits per second?")
            _check_takes(calls, takes, link, f"{way}link {number}")


def _check_takes(calls: Calls[LinkTrace], takes: Check, link: Any, name: str) -> None:
    """Check that `takes_s` inverts `carried`, also where the recording repeats."""
    borders_s = np.linspace(0.0, 1.6, PARTS) * link.end_s
    for begin_s in borders_s[:-1].tolist():
        for end_s in borders_s[borders_s > begin_s].tolist():
            amount = link.carried(begin_s, end_s)
            took_s = link.takes_s(begin_s, amount)
            again = link.carried(begin_s, begin_s + took_s)
            if took_s > (end_s - begin_s) * (1 + ROUNDING) or again < amount * (1 - ROUNDING):
                text = f"returned a {name} that carries {amount:.6g} bits in {end_s - begin_s:.6g} s"
                calls.note(takes, METHOD, f"{text}, and says that they take {took_s:.6g} s")
                return
