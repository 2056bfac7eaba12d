"""Records what Sionna computes for random links, so that the tests do not need it: `channel_validation/sionna.csv`.

In an environment of its own: `pip install sionna-no-rt==2.2.0`, then `python tests/channel/record_sionna.py OUT.csv`.
Losses are medians, of devices that are in no car: the random part of the penetration loss is set to 0.
"""

import csv
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from sionna.phy.channel.tr38901 import PanelArray
from sionna.phy.channel.tr38901.lsp import LSPGenerator
from sionna.phy.channel.tr38901.rma_scenario import RMaScenario
from sionna.phy.channel.tr38901.uma_scenario import UMaScenario
from sionna.phy.channel.tr38901.umi_scenario import UMiScenario

LINKS = 15  # of each scenario, carrier, release and kind of walls
CARRIERS_GHZ = {"umi": (0.7, 2.0, 3.5, 5.99, 6.0, 28.0, 70.0), "rma": (0.7, 3.5, 6.0, 28.0)}
CARRIERS_GHZ["uma"] = CARRIERS_GHZ["umi"]
BS_HEIGHT_M = {"umi": 10.0, "uma": 25.0, "rma": 35.0}
UT_HEIGHT_M = {"umi": (1.5, 22.5), "uma": (1.5, 22.5), "rma": (1.0, 10.0)}
DEPTH_M = {"umi": 25.0, "uma": 25.0, "rma": 10.0}
FIELDS = ("scenario", "release", "carrier_hz", "distance_m", "bs_height_m", "ut_height_m", "los", "indoor")
FIELDS += ("indoor_distance_m", "high_loss", "environment_m", "path_loss_db", "los_probability")


SCENARIOS = {"umi": UMiScenario, "uma": UMaScenario, "rma": RMaScenario}


def links(rng, name, carrier_ghz, release, walls):
    """Yield a row for each of some random links."""
    array = PanelArray(
        num_rows_per_panel=1,
        num_cols_per_panel=1,
        polarization="single",
        polarization_type="V",
        antenna_pattern="omni",
        carrier_frequency=carrier_ghz * 1e9,
        precision="double",
    )
    keys = {"precision": "double", "spec_version": {16: "16.1", 19: "19.2"}[release]}
    urban = {} if name == "rma" else {"o2i_model": walls}
    scenario = SCENARIOS[name](
        carrier_frequency=carrier_ghz * 1e9, ut_array=array, bs_array=array, direction="downlink", **urban, **keys
    )
    drawn_m = []  # heights h_E of UMa, which Sionna draws and does not keep
    if name == "uma":
        draw = scenario._sample_environment_height
        scenario._sample_environment_height = lambda *of: drawn_m.append(draw(*of)) or drawn_m[-1]
    distance_m = np.geomspace(30.0, 5_000.0, LINKS) * rng.uniform(0.8, 1.0, LINKS)
    angle = rng.uniform(0, 2 * np.pi, LINKS)
    height_m = rng.uniform(*UT_HEIGHT_M[name], LINKS)
    height_m[::2] = 1.5
    ground = np.stack([distance_m * np.cos(angle), distance_m * np.sin(angle), height_m], axis=-1)
    indoor = rng.random(LINKS) < 0.6
    los = rng.random(LINKS) < 0.5
    depth_m = rng.uniform(0, DEPTH_M[name], LINKS)
    still = torch.zeros(1, LINKS, 3, dtype=torch.float64)
    scenario.set_topology(
        ut_loc=torch.tensor(ground)[None],
        bs_loc=torch.tensor([[[0.0, 0.0, BS_HEIGHT_M[name]]]], dtype=torch.float64),
        ut_orientations=still,
        bs_orientations=torch.zeros(1, 1, 3, dtype=torch.float64),
        ut_velocities=still,
        in_state=torch.tensor(indoor)[None],
        los=torch.tensor(los)[None, None],
        distance_2d_in=torch.tensor(depth_m)[None],
    )
    generator = LSPGenerator(scenario)
    generator._sample_o2i_penetration_random = lambda _: torch.zeros((), dtype=torch.float64)
    generator._car_penetration_loss = lambda: torch.zeros((), dtype=torch.float64)  # of RMa's devices outdoors
    loss_db = generator.sample_pathloss()[0, 0].tolist()
    probability = scenario.los_probability[0, 0].tolist()
    environment_m = drawn_m[-1][0, 0].tolist() if drawn_m else [1.0] * LINKS
    for n in range(LINKS):
        yield (
            name,
            release,
            carrier_ghz * 1e9,
            float(np.hypot(ground[n, 0], ground[n, 1])),
            BS_HEIGHT_M[name],
            float(height_m[n]),
            int(los[n]),
            int(indoor[n]),
            float(depth_m[n]) if indoor[n] else 0.0,
            int(walls == "high"),
            environment_m[n],
            loss_db[n],
            probability[n],
        )


def main():
    """Write the table."""
    rng = np.random.default_rng(38901)
    torch.manual_seed(38901)
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as out:
        out.write(f"# Sionna {version('sionna-no-rt')} (TR 38.901 V16.1 and V19.2), tests/channel/record_sionna.py\n")
        table = csv.writer(out, lineterminator="\n")
        table.writerow(FIELDS)
        for name, carriers_ghz in CARRIERS_GHZ.items():
            kinds_of_walls = ("low",) if name == "rma" else ("low", "high")
            for carrier_ghz in carriers_ghz:
                for release in (16, 19):
                    for walls in kinds_of_walls:
                        for row in links(rng, name, carrier_ghz, release, walls):
                            table.writerow([f"{value:.12g}" if isinstance(value, float) else value for value in row])


main()
