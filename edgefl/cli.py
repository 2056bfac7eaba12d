"""The command line. Nothing heavy is imported before a verb needs it: `edgefl --help` must answer at once."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from edgefl.errors import InputError, RunError

if TYPE_CHECKING:
    from edgefl.record import Pace
    from edgefl.results import Result
    from edgefl.scenario import Scenario
    from edgefl.tracking import Tracker

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = {"finished": DONE, "failed": FAILED, "interrupted": INTERRUPTED}
EPILOG = """\
exit codes: 0 done; 1 the run failed; 2 the input is wrong (nothing was run, nothing written);
130 interrupted (finished rounds are on disk, --resume goes on)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        options = _parser().parse_args(arguments)
        code: int = options.verb(options)
    except InputError as error:
        print("\n".join(f"edgefl: {_printable(line)}" for line in error.faults), file=sys.stderr)
        return WRONG_INPUT
    except RunError as error:
        print(f"edgefl: {_printable(str(error))}", file=sys.stderr)
        return FAILED
    except MemoryError as error:
        print(f"edgefl: the memory is too small for this scenario: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("edgefl: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `edgefl list models | head`
        sys.stderr.close()
        return DONE
    return code


def _printable(line: str) -> str:
    """A line that stays one, whatever the input held."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


class _Parser(argparse.ArgumentParser):
    """One line for a wrong command line, as for any other wrong input."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    about = "edgefl: a wireless-edge emulator for federated learning (time-to-accuracy, energy-to-accuracy)"
    parser = _Parser(prog="edgefl", description=about, epilog=EPILOG, formatter_class=form)
    parser.add_argument("--version", action="version", version=f"edgefl {_version()}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _add_run(verbs)
    _add_sweep(verbs)
    _add_validate(verbs)
    _add_list(verbs)
    _add_schema(verbs)
    _add_report(verbs)
    _add_compare(verbs)
    _add_export(verbs)
    return parser


def _version() -> str:
    from importlib.metadata import version

    return version("edgefl")


def _add_run(verbs: Any) -> None:
    parser = verbs.add_parser("run", help="run one emulation")
    parser.add_argument("scenario", metavar="SCENARIO.yaml")
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, help="result folder (results/<name>/seed-<N>)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="one key")
    parser.add_argument("--seed", metavar="N", type=int, help="replaces the scenario's seed")
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:i]", help="where to train")
    parser.add_argument("--no-train", action="store_true", help="price the world without any learning")
    parser.add_argument("--overwrite", action="store_true", help="replace earlier results in the folder")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder, or begin it")
    every = "N rounds, or minutes with min behind it (as seldom as makes them 2 %% of the time)"
    parser.add_argument("--checkpoint-every", metavar="N|Nmin", type=_pace, dest="pace", help=every)
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    help_text = "rounds as TensorBoard events, as they end (OUT/tensorboard)"
    parser.add_argument("--tensorboard", metavar="DIR", nargs="?", const="", help=help_text)
    parser.add_argument("--mlflow", metavar="URI", help="rounds to an MLflow server or database, as they end")
    parser.set_defaults(verb=_run)


def _pace(text: str) -> Pace:
    """Rounds, or minutes."""
    from edgefl.record import Pace

    number, minutes = text.removesuffix("min"), text.endswith("min")
    try:
        value = float(number) if minutes else int(number)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise InputError(
            f"--checkpoint-every {text}: must be a number of rounds such as 50, or of minutes such as 10min"
        )
    return Pace(seconds=60.0 * value) if minutes else Pace(rounds=int(value))


def _run(options: argparse.Namespace) -> int:
    from edgefl.api import run
    from edgefl.progress import Progress
    from edgefl.scenario import load_with_source
    from edgefl.tracking import together

    overrides = options.overrides if options.seed is None else [*options.overrides, f"seed={options.seed}"]
    scenario, source = load_with_source(options.scenario, overrides)
    folder = options.out or Path("results") / scenario.name / f"seed-{scenario.seed}"
    logging.basicConfig(format="edgefl: %(message)s", level=logging.ERROR if options.quiet else logging.WARNING)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's "stop" ends a run as Ctrl-C does
    try:
        with ExitStack() as stack:
            trackers = [stack.enter_context(tracker) for tracker in _trackers(options, scenario, folder)]
            shown = Progress(scenario.name, scenario.in_sessions.total, quiet=options.quiet)
            result = run(
                scenario,
                out=folder,
                device=options.device,
                train=not options.no_train,
                overwrite=options.overwrite,
                resume=options.resume,
                pace=options.pace,
                progress=together(stack.enter_context(shown), *trackers),
            )
            for tracker in trackers:
                tracker.status = result.status
    except InputError as error:  # found when data and devices were made
        raise InputError(*map(source.place, error.faults)) from None
    if not options.quiet:
        print(_table(result))
    if result.error:
        print(f"edgefl: {result.status}: {result.error}; finished rounds are in {folder}", file=sys.stderr)
    return EXIT_CODES[result.status]


def _add_sweep(verbs: Any) -> None:
    parser = verbs.add_parser("sweep", help="a grid of runs: bandwidth, churn, algorithm, seeds, any key")
    parser.add_argument("sweep", metavar="SWEEP.yaml")
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, help="folder of all result folders (results/<name>)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="one key")
    parser.add_argument("--workers", metavar="N", type=int, help="runs at a time (one a GPU or core)")
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:i]", help="where to train")
    parser.add_argument("--no-train", action="store_true", help="price the world without any learning")
    parser.add_argument("--resume", action="store_true", help="run what is missing, or begin")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier sweep in the folder")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    parser.set_defaults(verb=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from edgefl import sweeps
    from edgefl.api import report
    from edgefl.progress import SweepProgress
    from edgefl.scenario import load_sweep

    if options.workers is not None and options.workers < 1:
        raise InputError(f"--workers {options.workers}: must be >= 1")
    found = load_sweep(options.sweep, options.overrides)
    if options.no_train:
        found = replace(found, train=False)
    folder = options.out or Path("results") / found.name
    logging.basicConfig(format="edgefl: %(message)s", level=logging.ERROR if options.quiet else logging.WARNING)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runs = sweeps.run(
        found,
        folder,
        workers=options.workers,
        device=options.device,
        resume=options.resume,
        overwrite=options.overwrite,
        shown=SweepProgress(found.name, quiet=options.quiet),
    )
    statuses = [one.status for one in runs]
    page = report([folder], folder / "report.html") if "finished" in statuses else None
    if not options.quiet:
        print(f"{statuses.count('finished')} of {len(runs)} runs finished")
        print(f"{'index':<14}{folder / sweeps.INDEX}\n{'report':<14}{page or 'no run has finished'}")
    for one in runs:
        if one.error:
            print(f"edgefl: {one.folder}: {one.status}: {_printable(one.error)}", file=sys.stderr)
    return INTERRUPTED if "interrupted" in statuses else FAILED if "failed" in statuses else DONE


def _trackers(options: argparse.Namespace, scenario: Scenario, folder: Path) -> list[Tracker]:
    """Those that are asked for."""
    from edgefl.tracking import MlflowRun, TensorBoardEvents

    asked: list[Tracker] = []
    if options.tensorboard is not None:
        events = Path(options.tensorboard or folder / "tensorboard")
        asked.append(TensorBoardEvents(scenario, events, overwrite=options.overwrite))
    if options.mlflow is not None:
        asked.append(MlflowRun(scenario, options.mlflow))
    return asked


def _table(result: Result) -> str:
    """The short table at the end of a run."""
    from edgefl.units import energy, seconds

    summary = result.summary
    lines = [
        ("rounds", str(summary["rounds"])),
        ("virtual time", seconds(summary["time_s"])),
        ("energy", energy(summary["energy_j"])),
    ]
    if summary["final_accuracy"] is not None:
        lines.append(("accuracy", f"{summary['final_accuracy']:.4f} (best {summary['best_accuracy']:.4f})"))
    for target in summary["targets"]:
        reached = target["round"] is not None
        cost = f"{seconds(target['time_s'])}, {energy(target['energy_j'])}, round {target['round']}" if reached else ""
        lines.append((f"to {target['accuracy']:.4g}", cost or "not reached"))
    lines.append(("report", str((result.folder or Path()) / "report.html")))
    if result.ledger is None:
        lines.append(("", "finished before; nothing was left to do"))
    return "\n".join(f"{name:<14}{value}" for name, value in lines)


def _add_validate(verbs: Any) -> None:
    parser = verbs.add_parser("validate", help="check scenario files, print every fault with file:line")
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.set_defaults(verb=_validate)


def _validate(options: argparse.Namespace) -> int:
    from edgefl.scenario import is_sweep, load, load_sweep

    faults: list[str] = []
    for file in options.files:
        try:
            (load_sweep if is_sweep(file) else load)(file)
            print(f"{file}: ok")
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*faults)
    return DONE


def _add_list(verbs: Any) -> None:
    parser = verbs.add_parser("list", help="what there is to choose from, with its source")
    parser.add_argument("kind", metavar="KIND", nargs="?", help="leave it out to see the kinds")
    parser.set_defaults(verb=_list)


def _list(options: argparse.Namespace) -> int:
    from edgefl.listing import entries, kinds
    from edgefl.section import nearest

    if options.kind is None:
        print("\n".join(kinds()))
        return DONE
    if options.kind not in kinds():
        known = ", ".join(kinds())
        raise InputError(f'list: unknown kind "{options.kind}"{nearest(options.kind, kinds())}; known: {known}')
    rows = entries(options.kind)
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {summary}" for name, summary in rows))
    return DONE


def _add_schema(verbs: Any) -> None:
    parser = verbs.add_parser("schema", help="the JSON Schema of a scenario file, for editors")
    parser.set_defaults(verb=_schema)


def _schema(options: argparse.Namespace) -> int:
    import json

    from edgefl.scenario.jsonschema import schema

    print(json.dumps(schema(), indent=2))
    return DONE


def _add_report(verbs: Any) -> None:
    parser = verbs.add_parser("report", help="one self-contained HTML page from result folders, or a sweep's")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(DIR/report.html; report.html for several)")
    parser.set_defaults(verb=_report)


def _report(options: argparse.Namespace) -> int:
    from edgefl.api import report

    alone = len(options.folders) == 1
    out = options.out or (options.folders[0] / "report.html" if alone else Path("report.html"))
    print(report(options.folders, out))
    return DONE


def _add_compare(verbs: Any) -> None:
    parser = verbs.add_parser("compare", help="what runs gain over a reference: accuracy, speed-up, paired t-test")
    parser.add_argument("reference", metavar="REFERENCE", type=Path, help="result folder")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--target", metavar="A", type=float, action="append", default=[], help="an accuracy to reach")
    parser.add_argument(
        "--relative", metavar="R", type=float, action="append", default=[], help="a part of the reference's best"
    )
    parser.add_argument("--last", metavar="N", type=int, default=50, help="tests at the end that are averaged (50)")
    parser.add_argument("--initial", metavar="N", type=int, default=10, help="rounds that are averaged (10)")
    parser.add_argument("--format", choices=("table", "csv", "json", "markdown"), default="table")
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(standard output)")
    parser.set_defaults(verb=_compare)


def _compare(options: argparse.Namespace) -> int:
    from edgefl.report.comparison import Wanted, compare, of_run
    from edgefl.report.formats import formatted
    from edgefl.report.read import load_all

    runs = load_all([options.reference, *options.folders], details=False)
    wanted = Wanted(options.target, options.relative, options.last, options.initial)
    text = formatted(compare([of_run(run, str(run.folder)) for run in runs], wanted), options.format)
    return _hand_over(text, options.out)


def _hand_over(text: str, out: Path | None) -> int:
    """Print a text, or write it to a file and print that."""
    if out is None:
        sys.stdout.write(text)
        return DONE
    from edgefl.files import write_for_user

    write_for_user(out, text.encode())
    print(out)
    return DONE


def _add_export(verbs: Any) -> None:
    from edgefl.export import FORMATS

    parser = verbs.add_parser("export", help="result folders as tables, as a timeline, for papers (docs/export.md)")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--format", choices=FORMATS, required=True)
    parts = parser.add_mutually_exclusive_group()
    for option in ("table", "figure"):
        known = dict.fromkeys(part for form in FORMATS.values() if form.option == option for part in form.parts)
        parts.add_argument(f"--{option}", choices=known, help=f"the {option}, where the format has several")
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(standard output)")
    parser.set_defaults(verb=_export)


def _export(options: argparse.Namespace) -> int:
    from edgefl.export import export

    chosen = [(option, part) for option in ("table", "figure") if (part := getattr(options, option))]
    export(options.folders, options.format, chosen[0] if chosen else None, options.out)
    if options.out is not None:
        print(options.out)
    return DONE
