"""Pedestrians marked in videos."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import NotReadable, utf8_lines
from edgefl.core.packed_files import unpacked
from edgefl.world.mobility.formats.sample import Sample, number

COLUMNS = 8  # frame, person, x, height, y, and the three of the velocity
FRAMES_PER_S = 25.0  # of the videos in which the pedestrians were marked


def read_obsmat(path: Path) -> Iterator[Sample]:
    """Yield the samples of pedestrians (UCY, Lerner et al. 2007; ETH), 25 frames a second.

    The columns are frame, person, x, height, y, and the velocity's three.
    """
    with unpacked(path) as stream:
        for line, text in enumerate(utf8_lines(stream), 1):
            cells = text.split()
            if not cells:
                continue
            if len(cells) != COLUMNS:
                raise NotReadable(f"has {len(cells)} columns, an obsmat file has {COLUMNS}", line)
            frame, person, x, _, y = (number(cell, line) for cell in cells[:5])
            yield Sample(line, frame / FRAMES_PER_S, f"{person:.15g}", x, y, time=f"frame {cells[0]}")
