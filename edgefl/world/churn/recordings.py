"""Recordings of when real phones could take part, as FedScale and FLASH publish them; each repeats for ever."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.mapping_files import in_order, read_mapping
from edgefl.core.section import shown

FLASH_BEGIN = datetime(2020, 1, 2)  # noqa: DTZ001 - the traces' times have no zone; FLASH counts seconds from here
NEEDS = ("locked", "screen_off", "wifi", "charging")
FLASH_NEEDS = ("locked", "wifi", "charging")  # of a phone that is ready, as in FLASH's timer
# The need that each message of FLASH's phones changes, and its new value.
_MESSAGES = {
    "battery_charged_on": ("charging", True),
    "battery_charged_off": ("charging", False),
    "wifi": ("wifi", True),
    **dict.fromkeys(("2g", "3g", "4g", "5g", "unknown"), ("wifi", False)),
    "screen_off": ("screen_off", True),
    "screen_on": ("screen_off", False),
    "screen_lock": ("locked", True),
    "screen_unlock": ("locked", False),
}


class Recording(NamedTuple):
    """The times at which a phone could take part, from its recording's beginning; then the recording begins again."""

    begin_s: float  # of the recording, on the file's clock
    period_s: float  # how long it is
    stays: Sequence[tuple[float, float]]  # from and until, in order and apart, within 0 to `period_s`


class Recordings(NamedTuple):
    """The content of a published trace."""

    phones: list[Recording]
    notes: list[str]  # lines for the user


class _Damaged(Exception):  # noqa: N818 - the name says what happened
    """A phone's messages cannot be followed."""


def read_fedscale(path: Path) -> Recordings:
    """Return the recordings of FedScale's ``client_behave_trace``, by the numbers of the clients.

    A client has `active` and `inactive`, the beginnings and ends of its stays, and `finish_time`, after which they
    begin again, all in seconds.

    Raises:
        InputError: the file cannot be read, or a client's entry is wrong.
    """
    recordings = []
    for name, entry in in_order(read_mapping(path)):
        where = f"{path}: client {name}"
        begins, ends, period_s = _fields(entry, ("active", "inactive", "finish_time"), where)
        if not isinstance(begins, list) or not isinstance(ends, list) or len(begins) != len(ends):
            raise InputError(f"{where}: active and inactive must be lists of equal length")
        recordings.append(_recording(0.0, period_s, list(zip(begins, ends, strict=True)), where))
    return Recordings(recordings, [])


def read_flash(path: Path, needs: Collection[str] | None = None) -> Recordings:
    """Return the recordings of FLASH's phones: ``state_traces.json``, or ``cached_timers.json``, computed from it.

    Phones that FLASH does not use, because their recordings are damaged or never ready, are left out; a line for the
    user counts the damaged ones.

    Args:
        path: the file.
        needs: the conditions under which a phone takes part, some of `NEEDS`; None: as in FLASH.

    Raises:
        InputError: the file cannot be read, an entry is wrong, or no phone is left.
    """
    recordings = []
    damaged: list[str] = []
    for name, entry in in_order(read_mapping(path)):
        where = f"{path}: phone {name}"
        recording = None
        if isinstance(entry, dict) and "ready_time" in entry:
            if needs is not None:
                raise InputError(f"{path}: has times at which phones are ready, without their states: leave needs out")
            recording = _computed(entry, where)
        else:
            (messages,) = _fields(entry, ("messages",), where)
            try:
                recording = _followed(str(messages), needs or FLASH_NEEDS, where)
            except _Damaged as error:
                damaged.append(f"phone {name}: {error}")
        if recording is not None:
            recordings.append(recording)
    if not recordings:
        text = f"{path}: no phone has a recording where it is ever ready"
        if damaged:
            text = f"{text}; {len(damaged)} are damaged: {damaged[0]}"
        raise InputError(text)
    return Recordings(recordings, list(_notes_of(path, damaged)))


def _notes_of(path: Path, damaged: Sequence[str]) -> Iterator[str]:
    if damaged:
        what = "1 phone is left out, as its recording is damaged"
        if len(damaged) > 1:
            what = f"{len(damaged)} phones are left out, as their recordings are damaged"
        yield f"{path}: {what} (the first: {damaged[0]})"


def _computed(entry: dict[str, Any], where: str) -> Recording | None:
    """Return the recording that FLASH's timer has computed of a phone; None if FLASH does not use the phone."""
    names = ("isSuccess", "trace_start", "trace_end", "ready_time")
    is_used, begin_s, end_s, stays = _fields(entry, names, where)
    if not is_used:
        return None
    begin_s = _number(begin_s, where)
    if not isinstance(stays, list) or not all(isinstance(stay, list) and len(stay) == 2 for stay in stays):
        raise InputError(f"{where}: ready_time must be a list of pairs [beginning, end], got {shown(stays)}")
    pairs = [[_number(time, where) - begin_s for time in stay] for stay in stays]
    # FLASH counts whole seconds of a recording.
    return _recording(begin_s, int(_number(end_s, where) - begin_s), pairs, where)


def _followed(messages: str, needs: Collection[str], where: str) -> Recording | None:
    """Return the recording of a phone that is ready while it meets all `needs`; None if it is never ready.

    A need is not met before the first message about it. As in FLASH, a stay that has not ended by the last message is
    left out.

    Raises:
        _Damaged: a line is not a time and a known state, or its time is before that of the line above.
    """
    met = dict.fromkeys(NEEDS, False)
    times_s: list[float] = []
    stays: list[tuple[float, float]] = []
    since_s: float | None = None
    for number, line in enumerate(messages.split("\n"), 1):
        if not line.strip():
            continue
        time, _, state = line.strip().partition("\t")
        try:
            time_s = (datetime.fromisoformat(time.strip()) - FLASH_BEGIN).total_seconds()
        except (TypeError, ValueError):  # TypeError: the time has a zone
            raise _Damaged(f"line {number} has no time such as 2020-01-02 10:00:00, got {shown(line)}") from None
        if times_s and time_s < times_s[-1]:
            raise _Damaged(f"line {number} is earlier than the line above, {shown(line)}")
        times_s.append(time_s)
        state = state.strip().lower()
        if not state.endswith("%"):  # the level of the battery
            if state not in _MESSAGES:
                raise _Damaged(f"line {number} has the unknown state {shown(state)}")
            need, value = _MESSAGES[state]
            met[need] = value
        ready = all(met[need] for need in needs)
        if ready and since_s is None:
            since_s = time_s
        elif not ready and since_s is not None:
            stays.append((since_s, time_s))
            since_s = None
    if not stays or int(times_s[-1] - times_s[0]) == 0:
        return None
    begin_s = times_s[0]
    from_begin = [(on_s - begin_s, off_s - begin_s) for on_s, off_s in stays]
    return _recording(begin_s, int(times_s[-1] - begin_s), from_begin, where)


def _recording(begin_s: float, period: Any, pairs: Sequence[Sequence[Any]], where: str) -> Recording:
    """Return a recording, cut at its period; stays that overlap or touch become one.

    Raises:
        InputError: a value is not a number, or a stay ends before it begins.
    """
    period_s = _number(period, where)
    if period_s <= 0:
        raise InputError(f"{where}: must last longer than 0 s, got {period_s:g}")
    numbers = [(_number(on_s, where), _number(off_s, where)) for on_s, off_s in pairs]
    stays: list[tuple[float, float]] = []
    for on_s, off_s in sorted(numbers):
        if not 0 <= on_s <= off_s:
            raise InputError(f"{where}: is present from {on_s:g} s to {off_s:g} s: must have 0 <= beginning <= end")
        end_s = min(off_s, period_s)
        if stays and on_s <= stays[-1][1]:
            stays[-1] = (stays[-1][0], max(stays[-1][1], end_s))
        elif on_s < end_s:
            stays.append((on_s, end_s))
    return Recording(begin_s, period_s, tuple(stays))


def _fields(entry: Any, names: Sequence[str], where: str) -> list[Any]:
    missing = [name for name in names if not isinstance(entry, dict) or name not in entry]
    if missing:
        raise InputError(f"{where}: has no {', '.join(missing)}: is it another format?")
    return [entry[name] for name in names]


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise InputError(f"{where}: must have times in seconds, got {shown(value)}")
    return float(value)
