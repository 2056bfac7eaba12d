"""The sections `devices` and `radio` of a scenario as text, with the origin of each number in a comment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edgefl.calibration.compute_fit import FittedLaw
from edgefl.calibration.energy_fit import RadioPower
from edgefl.calibration.fit import Fit, TypeFit
from edgefl.calibration.held_out_errors import Errors, HeldOutErrors
from edgefl.calibration.shipped_law import BOARD, is_speed

TIMES_FILE = "times.csv"
PROFILE_FILE = "profile.yaml"
FIRST_WORDS = "# By edgefl calibrate "
ASSUMED_DBM = 15.0  # of Wi-Fi
NO_CAPACITANCE = 1e-40  # the key must be above 0; this draws nothing at any clock
LEAST_W = 1e-9  # of `rx_power_w`, which must be above 0
COMMENT_COLUMN = 52


class Entry(NamedTuple):
    """A key with its value, or with the keys below it."""

    key: str
    value: str | Sequence[Entry] | Sequence[Sequence[Entry]]
    comment: str = ""


@dataclass(frozen=True)
class Calibrated:
    """A fit to all rows of a log, and what is said of it."""

    fitted: Fit
    held_out: HeldOutErrors
    name: str  # of the log
    summary: Sequence[str]  # lines about errors
    remarks: Sequence[str]  # unknowns of the log
    provenance: Mapping[str, str]  # of the log

    @property
    def heading(self) -> list[str]:
        """Comments above the sections."""
        lines = [f"{FIRST_WORDS}from all rows of {_plain(self.name)}."]
        lines += [f"# {key}: {_plain(text)}" for key, text in self.provenance.items()]
        lines += [f"# {text}" for text in self.summary]
        return [*lines, "# The log cannot tell:", *(f"#   {text}" for text in self.remarks)]


def fragment(of: Calibrated) -> str:
    """Return the sections as YAML."""
    lines = [*of.heading, *_lines([Entry("devices", _devices(of))], 0)]
    radio = _radio(of)
    if radio:
        lines += _lines([Entry("radio", radio)], 0)
    return "\n".join(lines) + "\n"


def profiles(of: Calibrated) -> dict[str, str]:
    """Return a profile of each type of device as YAML, by the name of its file."""
    found = {}
    for device in of.fitted.types.values():
        source = ", ".join(filter(None, [of.provenance.get("board", device.name), of.provenance.get("measured_on")]))
        entries = [Entry("source", _quoted(f"{_plain(of.name)}: {_plain(source)}")), *_hardware(of, device)]
        name = PROFILE_FILE
        if len(of.fitted.types) > 1:
            plain = re.sub(r"[^\w.-]", "_", device.name)
            name = f"{plain}.{PROFILE_FILE}"
        found[name] = "\n".join([*of.heading, *_lines(entries, 0)]) + "\n"
    return found


def _lines(entries: Sequence[Entry], depth: int) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        text = f"{'  ' * depth}{entry.key}:"
        below: list[str] = []
        if isinstance(entry.value, str):
            text = f"{text} {entry.value}"
        else:
            for value in entry.value:
                if isinstance(value, Entry):
                    below += _lines([value], depth + 1)
                else:  # an entry of a list
                    item = _lines(value, depth + 2)
                    item[0] = f"{'  ' * (depth + 1)}- {item[0].lstrip()}"
                    below += item
        if entry.comment:
            text = f"{text.ljust(COMMENT_COLUMN)}  # {entry.comment}"
        lines += [text, *below]
    return lines


def _plain(name: str) -> str:
    return name if name.isprintable() else ascii(name)


def _number(value: float) -> str:
    digits, letter, exponent = format(value, ".6g").partition("e")
    return f"{digits}{letter}{int(exponent)}" if exponent else digits


def _devices(of: Calibrated) -> list[Entry]:
    types = list(of.fitted.types.values())
    count = Entry("count", str(sum(device.units for device in types)), "units in the log")
    if len(types) == 1:
        return [count, *_hardware(of, types[0])]
    groups = [
        [Entry("name", _quoted(device.name)), Entry("count", str(device.units)), *_hardware(of, device)]
        for device in types
    ]
    return [count, Entry("groups", groups)]


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _rows(device: TypeFit, phase: str, *, with_joules: bool = False) -> str:
    """Return how many rows of a phase a number comes from."""
    count = sum(row.phase == phase and (row.joules is not None or not with_joules) for row in device.rows)
    kind = phase
    if with_joules:
        kind = f"{phase}, joules"
    return f"{count} row{'s' * (count != 1)} of {kind}"


def _hardware(of: Calibrated, device: TypeFit) -> list[Entry]:
    energy = device.energy
    entries: list[Entry] = []
    if device.highest_hz is not None:
        entries.append(Entry("cpu_hz", _number(device.highest_hz), "highest clock in the log"))
    compute = _compute(device)
    if compute:
        entries.append(Entry("compute", compute))
    if energy.cpu is not None:
        where = _rows(device, "train", with_joules=True)
        entries.append(Entry("cpu_static_w", _number(energy.cpu.static_w), where))
        why = where
        if not energy.cpu.capacitance:
            why = "one clock: all is in cpu_static_w"
        entries.append(Entry("capacitance", _number(energy.cpu.capacitance or NO_CAPACITANCE), why))
    if energy.idle_w is not None:
        entries.append(Entry("idle_power_w", _number(energy.idle_w), _rows(device, "idle", with_joules=True)))
    if energy.setup_s is not None:
        entries.append(Entry("setup_s", _number(energy.setup_s), _rows(device, "setup")))
    if energy.setup_j is not None:
        entries.append(Entry("setup_j", _number(energy.setup_j), _rows(device, "setup", with_joules=True)))
    if energy.rx is not None:
        where = _rows(device, "download", with_joules=True)
        entries.append(Entry("rx_power_w", _number(max(energy.rx.base_w, LEAST_W)), where))
    return [*entries, *_radio_energy(device), *_held_out(of.held_out, device.name)]


def _held_out(errors: HeldOutErrors, name: str) -> list[Entry]:
    below: list[Entry] = []
    kinds = errors.compute.get(name)
    if kinds:
        below.append(Entry("compute", [Entry(kind, _error(error)) for kind, error in kinds.items()]))
    if name in errors.power:
        below.append(Entry("power", _error(errors.power[name])))
    return [Entry("held_out", below, "errors on numbers left out of a fit")] if below else []


def _error(error: Errors) -> str:
    sigma, numbers = error
    return f"{{sigma: {_number(sigma)}, numbers: {numbers}}}"


def _compute(device: TypeFit) -> list[Entry]:
    entries: list[Entry] = []
    if device.law is not None:
        entries += _law(device, device.law)
    elif device.measured is not None:
        table = f"{{path: {TIMES_FILE}, device: {_quoted(device.name)}}}"
        entries.append(Entry("measured", table, _rows(device, "train")))
    if entries and device.spread is not None:
        value = f"{{lognormal: [0, {_number(device.spread)}]}}"
        entries.append(Entry("speed", value, f"differences between {device.units} units"))
    if entries and device.jitter is not None:
        entries.append(Entry("jitter", _number(device.jitter), "repeats of one network and batch size"))
    return entries


def _law(device: TypeFit, law: FittedLaw) -> list[Entry]:
    entries: list[Entry] = []
    where = _rows(device, "train")
    for key, seconds in law.seconds.items():
        ratio = f"not told: near the ratio of {BOARD}" if key in law.untold else ""
        comment = "; ".join(filter(None, [where, ratio]))
        entries.append(Entry(key, _number(1 / seconds if is_speed(key) else seconds), comment))
        where = ""
    return entries


def _radio_energy(device: TypeFit) -> list[Entry]:
    entries: list[Entry] = []
    below: list[Entry] = []
    received = device.energy.rx
    if received is not None and received.knows_rate:
        below.append(Entry("rx_j_per_mbit", _number(received.j_per_mbit), _rows(device, "download", with_joules=True)))
    sent = device.energy.tx
    if sent is not None:
        dbm = _sent_dbm(sent)
        entries.append(Entry("tx_power_dbm", _number(dbm), "assumed: no log of energy tells it"))
        circuit_w = max(sent.base_w - _watts(dbm), 0.0)
        where = _rows(device, "upload", with_joules=True)
        below.append(Entry("circuit_w", _number(circuit_w), f"{where}, less the power sent"))
        if sent.knows_rate:
            below.append(Entry("tx_j_per_mbit", _number(sent.j_per_mbit), where))
    if below:
        entries.append(Entry("radio_energy", below))
    return entries


def _sent_dbm(sent: RadioPower) -> float:
    """Return the assumed power sent, which is less than all that the device draws."""
    if sent.base_w >= _watts(ASSUMED_DBM):
        return ASSUMED_DBM
    return 10 * math.log10(max(sent.base_w, LEAST_W) * 1e3)


def _watts(dbm: float) -> float:
    return float(10 ** (dbm / 10) / 1e3)


def _radio(of: Calibrated) -> list[Entry]:
    """Return a shared link of known capacity: 1 bit/s/Hz at any place, so that `bandwidth_hz` is the capacity."""
    fitted = of.fitted
    known = [link for link in (fitted.down, fitted.up) if link is not None]
    if not known:
        return []
    down = fitted.down or known[0]
    up = fitted.up or known[0]
    capacity_bps = max(down.capacity_bps, up.capacity_bps)
    where = f"{sum(link.exchanges for link in known)} exchanges"
    spreads = [f"{100 * link.spread:.2g} %" for link in known if link.spread is not None]
    if spreads:
        where = f"{where}; those of one size differ by {', '.join(spreads)}"
    entries = [
        Entry("bandwidth_hz", _number(capacity_bps), f"bit/s that all share: {where}"),
        Entry("rate", "{kind: truncated_shannon, attenuation: 1, max_bps_hz: 1}", "1 bit/s in each hertz"),
        Entry("propagation", "free_space", "all devices have the full rate, within a few km"),
        Entry("fading", "none"),
        Entry("sharing", "processor"),
    ]
    lost = {"downlink": 1 - down.capacity_bps / capacity_bps, "uplink": 1 - up.capacity_bps / capacity_bps}
    if any(lost.values()):
        shares = ", ".join(f"{way}: {_number(share)}" for way, share in lost.items())
        entries.append(Entry("overhead", f"{{{shares}}}", "how much slower one direction is"))
    if down.access_s or up.access_s:
        value = f"{{downlink: {_number(down.access_s)}, uplink: {_number(up.access_s)}}}"
        entries.append(Entry("access_s", value, "before a message's first bit"))
    if of.held_out.links:
        below = [Entry(way, _error(error)) for way, error in of.held_out.links.items()]
        entries.append(Entry("held_out", below, "errors on numbers left out of a fit"))
    return entries
