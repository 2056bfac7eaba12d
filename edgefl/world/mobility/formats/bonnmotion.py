"""Movements as BonnMotion writes them."""

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from edgefl.core.data_files import NotReadable
from edgefl.core.packed_files import unpacked
from edgefl.world.mobility.formats.sample import Sample, number

CHUNK_BYTES = 2**16
MARK_3D = "#3d"  # the line above movements in 3D
NUMBERS_2D = 3  # of a waypoint: time, x, y
NUMBERS_3D = 4  # with z


def read_bonnmotion(path: Path) -> Iterator[Sample]:
    """Yield the waypoints of BonnMotion's movements (Aschenbruck et al., SIMUTools 2010).

    Each line is a node, with time, x, y of its waypoints, or time, x, y, z below a line #3D.
    """
    numbers = NUMBERS_2D
    node = 0
    pending: list[float] = []  # numbers of a waypoint that is not complete
    written = 0  # numbers of the line
    is_comment = False
    with unpacked(path) as stream:
        for line, words, is_end in _words(stream):
            if words and not written and words[0].startswith("#"):
                is_comment = True
                if "".join(words).lower().startswith(MARK_3D):
                    numbers = NUMBERS_3D
            if not is_comment:
                for word in words:
                    pending.append(number(word, line))
                    if len(pending) == numbers:
                        yield Sample(line, pending[0], str(node), pending[1], pending[2])
                        pending.clear()
                written += len(words)
            if is_end:
                _check_count(written, numbers, line)
                node += written > 0
                written = 0
                is_comment = False
    if not node:
        raise NotReadable("holds no movements: write a line of time x y time x y ... for each node")


def _check_count(written: int, numbers: int, line: int) -> None:
    """Check that a line has all numbers of each of its waypoints."""
    if written % numbers == 0:
        return
    if written == 1:
        text = "holds a single number, as a line of BonnMotion's model DisasterArea: convert it by bm NSFile -d"
        raise NotReadable(f"{text}, and read that file with format: ns2", line)
    waypoint = "time x y"
    if numbers == NUMBERS_3D:
        waypoint = "time x y z"
    text = f"holds {written} numbers, not a multiple of {numbers}, as {waypoint} of each waypoint"
    if numbers == NUMBERS_2D and written % NUMBERS_3D == 0:
        text = f"{text}: where they have a z, write #3D as the first line"
    raise NotReadable(text, line)


def _words(stream: BufferedReader) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the words of each line in pieces, with the line's number and whether it ends; a line may be very long."""
    line = 1
    rest = b""  # perhaps half a word
    while chunk := stream.read(CHUNK_BYTES):
        *whole, last = (rest + chunk).split(b"\n")
        for text in whole:
            yield line, text.decode().split(), True
            line += 1
        cut = max(last.rfind(b" "), last.rfind(b"\t")) + 1
        rest = last[cut:]
        if len(rest) > CHUNK_BYTES:
            raise NotReadable("holds a word that is longer than any number", line)
        yield line, last[:cut].decode().split(), False
    yield line, rest.decode().split(), True
