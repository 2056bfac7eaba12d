"""Records points of Sionna's tables of block errors, which is `benchmarks/channel_validation/sionna_bler.csv`.

In an environment of its own: `pip install sionna-no-rt==2.2.0`, then run this file with OUT.csv as its argument. The
tables are Monte-Carlo simulations of the LDPC codes of NR over AWGN. Recorded are the points that say something of a
curve, for the two tables of schemes that `channel.mcs` has. Code blocks of 24 bits, the shortest ones, are left out.
"""

import csv
import json
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

TABLES = {"64qam": ("PDSCH_table1.json", "1"), "256qam": ("PDSCH_table2.json", "2")}
LEAST_BITS = 100
LEAST_RATE = 0.002  # of some 3,000 blocks


def main():
    """Write the table."""
    folder = files("sionna.sys") / "bler_tables"
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as out:
        source = f"Sionna {version('sionna-no-rt')}, sionna/sys/bler_tables/PDSCH_table1.json and PDSCH_table2.json"
        out.write(f"# {source}; Copyright (c) 2021-2025 NVIDIA CORPORATION & AFFILIATES; SPDX-License-Identifier: ")
        out.write("Apache-2.0; tests/channel/record_sionna_bler.py\n")
        table = csv.writer(out, lineterminator="\n")
        table.writerow(("table", "mcs", "bits", "snr_db", "bler"))
        for name, (file, index) in TABLES.items():
            schemes = json.loads((folder / file).read_text(encoding="utf-8"))["category"]["1"]["index"][index]["MCS"]
            for mcs, scheme in schemes.items():
                for bits, curve in scheme["CBS"].items():
                    if int(bits) < LEAST_BITS:
                        continue
                    for snr_db, bler in zip(scheme["SNR_db"], curve["BLER"], strict=True):
                        if LEAST_RATE <= bler <= 1 - LEAST_RATE:
                            table.writerow((name, mcs, bits, f"{snr_db:.4f}", f"{bler:.4f}"))


main()
