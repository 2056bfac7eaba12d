"""Tracks of GPS receivers."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import EXAMPLE, NotReadable, timestamp
from edgefl.core.section import shown
from edgefl.world.mobility.formats.sample import Sample
from edgefl.world.mobility.formats.sumo import seconds
from edgefl.world.mobility.formats.xml import attribute, elements


def read_gpx(path: Path) -> Iterator[Sample]:
    """Yield the samples of a GPX 1.1 file.

    Each `trk` is a device, absent between two of its `trkseg`; each `trkpt` has `lat` and `lon`, and in it `time`, in
    UTC unless it names a zone. SUMO writes seconds as times.
    """
    track = -1
    is_first_of_track = begins_segment = True
    point_line = 0
    longitude = latitude = 0.0
    time = ""
    without_track = ""  # another element with points
    for line, tag, attributes, text in elements(path):
        if tag == "trk":
            track += 1
            is_first_of_track = True
        elif tag == "trkseg":
            begins_segment = True
        elif tag == "trkpt":
            point_line = line
            longitude = attribute(line, tag, attributes, "lon")
            latitude = attribute(line, tag, attributes, "lat")
            time = ""
        elif tag in {"rtept", "wpt"}:
            without_track = without_track or tag
        elif tag == "/time" and not time:  # extensions after it may have times of their own
            time = text.strip()
        elif tag == "/trkpt":
            # At the end of the point, since its time is an element within it.
            time_s = _seconds(point_line, time)
            after_absence = begins_segment and not is_first_of_track
            yield Sample(point_line, time_s, str(track), longitude, latitude, time=time, after_absence=after_absence)
            is_first_of_track = begins_segment = False
    if without_track and not point_line:
        text = f"has points of <{without_track}>, which are planned places, and no recorded track"
        raise NotReadable(f"{text}: write <trk> with <trkpt>, each with its <time>")


def _seconds(line: int, text: str) -> float:
    """Return the seconds since 1970 of a time such as 2024-05-01T12:00:00Z, or of SUMO's clock."""
    if not text:
        text = f"<trkpt> has no <time>, and needs one such as {EXAMPLE}: export the recorded activity, as"
        raise NotReadable(f"{text} planned routes have no times; if other points have one, delete this one", line)
    time = timestamp(text)
    if time is not None:
        return time.timestamp()
    time_s = seconds(text)
    if time_s is None:
        raise NotReadable(f"<trkpt> needs a time such as {EXAMPLE}, got {shown(text)}", line)
    return time_s
