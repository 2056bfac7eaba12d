"""Pedestrians marked in videos."""

import math
from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import NotReadable, utf8_lines
from edgefl.core.packed_files import unpacked
from edgefl.world.mobility.formats.sample import Sample, number

COLUMNS = 8  # frame, person, x, height, y, and the three of the velocity
COLUMNS_WITHOUT_VELOCITY = 4  # frame, person, x, y
COLUMN_NAMES = "8 columns (frame, person, x, height, y, and three of the velocity) or 4 (frame, person, x, y)"
FRAMES_PER_S = 25.0  # of the videos where the pedestrians were marked


def read_obsmat(path: Path) -> Iterator[Sample]:
    """Yield the samples of pedestrians (UCY, Lerner et al. 2007; ETH), 25 frames a second.

    The columns are frame, person, x, height, y, and the velocity's three, or, as in Social GAN's files, frame,
    person, x, y.
    """
    with unpacked(path) as stream:
        for line, text in enumerate(utf8_lines(stream), 1):
            cells = text.split()
            if not cells:
                continue
            if len(cells) not in {COLUMNS, COLUMNS_WITHOUT_VELOCITY}:
                columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
                found = f"has {columns} between spaces; obsmat files have {COLUMN_NAMES}"
                raise NotReadable(f"{found}: write other traces as CSV (time_s, device, x_m, y_m)", line)
            values = [number(cell, line) for cell in cells]
            speed_mps = math.nan
            if len(values) == COLUMNS:
                frame, person, x, _, y, vx_mps, _, vy_mps = values
                speed_mps = math.hypot(vx_mps, vy_mps)
            else:
                frame, person, x, y = values
            name = f"{person:.15g}"
            yield Sample(line, frame / FRAMES_PER_S, name, x, y, speed_mps=speed_mps, time=f"frame {cells[0]}")
