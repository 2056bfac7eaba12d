"""Trace the rays of a street block of four buildings by Sionna RT, and write what `edgefl import-map` reads.

pip install sionna-rt   # 0.7 GB; without a GPU it also needs a recent LLVM, such as libllvm19 of Debian
python tools/street_map.py build/street-block-sionna.npz
edgefl import-map build/street-block-sionna.npz -o scenarios/street-block.npz --overwrite
"""

import sys
from pathlib import Path

import mitsuba as mi

mi.set_variant("llvm_ad_mono_polarized")

import numpy as np  # noqa: E402
from sionna import rt  # noqa: E402

CARRIER_HZ = 3.5e9
STATION_M = [0.0, 0.0, 25.0]
DEVICE_HEIGHT_M = 1.5
SIZE_M = 250.0  # an odd number of bins: the middle one has its centre below the base station
STEP_M = 5.0
RAYS = 20_000_000
BUILDINGS_M = {  # west, south, east, north, height
    "north-east": (15.0, 15.0, 75.0, 60.0, 14.0),
    "north-west": (-80.0, 15.0, -15.0, 50.0, 8.0),
    "south-west": (-60.0, -75.0, -15.0, -15.0, 12.0),
    "south-east": (15.0, -60.0, 90.0, -15.0, 10.0),
}


def box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> mi.Mesh:
    """Return a closed box, whose faces look outwards."""
    lengths = [high - low for low, high in (x, y, z)]
    middle = [(low + high) / 2 for low, high in (x, y, z)]
    to_world = mi.ScalarTransform4f().translate(middle).scale([length / 2 for length in lengths])
    return mi.load_dict({"type": "cube", "to_world": to_world})


def scene_of_block() -> rt.Scene:
    """Return the ground, the buildings and the base station."""
    scene = rt.load_scene()
    scene.frequency = CARRIER_HZ
    ground = rt.ITURadioMaterial("ground", "medium_dry_ground", thickness=1.0)
    concrete = rt.ITURadioMaterial("walls", "concrete", thickness=0.3)
    edge_m = SIZE_M
    objects = [
        rt.SceneObject(
            mi_mesh=box((-edge_m, edge_m), (-edge_m, edge_m), (-1.0, 0.0)), name="ground-box", radio_material=ground
        )
    ]
    for name, (west, south, east, north, height) in BUILDINGS_M.items():
        mesh = box((west, east), (south, north), (0.01, height))
        objects.append(rt.SceneObject(mi_mesh=mesh, name=name, radio_material=concrete))
    scene.edit(add=objects)
    isotropic = rt.PlanarArray(num_rows=1, num_cols=1, pattern="iso", polarization="V")
    scene.tx_array = isotropic
    scene.rx_array = isotropic
    scene.add(rt.Transmitter("station", position=STATION_M))
    return scene


def main(path: Path) -> None:
    """Write the map."""
    scene = scene_of_block()
    solve = rt.RadioMapSolver()
    bins = SIZE_M + STEP_M
    plane = {
        "center": [0.0, 0.0, DEVICE_HEIGHT_M],
        "orientation": [0.0, 0.0, 0.0],
        "size": [bins, bins],
        "cell_size": [STEP_M, STEP_M],
        "samples_per_tx": RAYS,
    }
    traced = solve(scene, max_depth=5, refraction=True, diffraction=True, edge_diffraction=True, **plane)
    direct = solve(scene, max_depth=0, specular_reflection=False, refraction=False, **plane)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        path_gain=np.array(traced.path_gain),
        los=np.array(direct.path_gain) > 0,
        cell_centers=np.array(traced.cell_centers),
        tx_positions=np.array([transmitter.position.numpy().ravel() for transmitter in scene.transmitters.values()]),
        frequency=CARRIER_HZ,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
