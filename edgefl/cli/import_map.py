"""`edgefl import-map`."""

from __future__ import annotations

import argparse
from typing import Any

from edgefl.cli.common import add_options, as_typed, working_directory
from edgefl.cli.exits import EXIT_DONE


def add_import_map(verbs: Any) -> None:
    """Add `edgefl import-map` and its options."""
    about = "make a map of path gains for radio.propagation: map, of Sionna RT, DeepMIMO or measurements"
    parser = verbs.add_parser("import-map", help=about, description=f"{about} (docs/channel/maps.md)")
    add_options(parser, "import-map")
    parser.add_argument(
        "--origin",
        metavar=("X", "Y"),
        nargs=2,
        type=float,
        help="point of the source that becomes (0, 0): X Y in metres, or LATITUDE LONGITUDE (default: their mean)",
    )
    parser.set_defaults(verb=_import_map)


def _import_map(options: argparse.Namespace) -> int:
    from edgefl.core.errors import InputError
    from edgefl.core.files import write_for_user
    from edgefl.core.own_files import begins_with, foreign_file, is_foreign
    from edgefl.radio.gain_maps import import_map
    from edgefl.radio.gain_maps.gain_map import map_bytes
    from edgefl.radio.gain_maps.options import ImportOptions

    here = working_directory()
    out = here / options.out
    if out.suffix != ".npz":
        raise InputError(f"-o {options.out}: must end in .npz")
    if out.exists() and not options.overwrite:
        raise InputError(f"{out}: exists: choose another file, or add --overwrite")
    if is_foreign(out, begins_with(b"PK")):
        raise foreign_file(out)
    if options.step_m is not None and not options.step_m > 0:
        raise InputError(f"--step-m: must be > 0, got {options.step_m:g}")
    chosen = ImportOptions(
        origin=options.origin and tuple(options.origin),
        columns=dict(text.partition("=")[::2] for text in options.columns or ()),
        step_m=options.step_m,
        power_dbm=options.power_dbm,
        receivers=options.receivers,
    )
    made = import_map(here / options.source, options.format, chosen)
    write_for_user(out, map_bytes(made))
    print("\n".join(_described(made)))
    print(f"written       {as_typed(out)}")
    return EXIT_DONE


def _described(made: Any) -> list[str]:
    import numpy as np

    from channel.gain_map import held_out_errors_db

    gains_db = made.path_gain_db
    unknown = np.isnan(gains_db)
    lines = [
        f"grid          {len(made.x_m)} x {len(made.y_m)} points, {made.spans()}",
        f"path gain     {np.nanmin(gains_db):.1f} to {np.nanmax(gains_db):.1f} dB, unknown at {unknown.mean():.1%}",
    ]
    if made.los is not None:
        lines.append(f"line of sight {made.los[~unknown].mean():.1%} of the points")
    if made.sites_m is not None:
        places = ", ".join(f"[{x:g}, {y:g}]" for x, y in made.sites_m.tolist())
        lines.append(f"stations      [{places}]")
    if made.origin_deg is not None:
        latitude, longitude = made.origin_deg
        lines.append(f"origin        [{latitude:.6f}, {longitude:.6f}], latitude and longitude of (0, 0)")
    lines.append(f"radius        {made.radius_m():g} m around (0, 0)")
    lines.append(f"held out      {_errors(held_out_errors_db(made.x_m, made.y_m, gains_db))}")
    return lines


def _errors(errors_db: Any) -> str:
    """Return the errors of a map of every second row and column on the other points."""
    import numpy as np

    if not len(errors_db):
        return "no points"
    text = f"{len(errors_db)} points between every second row and column"
    median_db, most_db = np.quantile(np.abs(errors_db), [0.5, 0.95])
    rms_db = np.sqrt(np.mean(errors_db**2))
    return f"{text}: error {median_db:.2f} dB (median), {rms_db:.2f} dB (rms), 95 % below {most_db:.2f} dB"
