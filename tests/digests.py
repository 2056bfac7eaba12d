"""Digests of the results of runs, before and after a change that must not change a single byte.

    python tests/digests.py --write digests.json        # every file of scenarios/ that has its data here, shortened
    python tests/digests.py --compare digests.json      # the same runs again, against the digests of before
    python -m pytest -p tests.digests --digests digests.jsonl   # every run that a test makes, one line each
    python tests/digests.py --compare-tests before.jsonl after.jsonl

A digest covers every table that a run writes, summary.json without wall-clock times, and the final model with its
buffers. One run more than the scenarios asks for all that `report` can give.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

TRAIN_PRICE = {  # models so large that only the world is run
    "cifar10-fedeve", "cifar10-sessions", "cifar10-exdir", "svhn-fedar", "tinyimagenet-sessions", "cinic10-exdir",
    "llama-lora",
}  # fmt: skip
ROUNDS = 3


EVERYTHING = yaml.safe_load((ROOT / "tests" / "cases" / "everything.yaml").read_text(encoding="utf-8"))


def of_numbers():
    """A run with every measure of a regression; its labels are 0 and 1, as those of yes-or-no labels must be."""
    import numpy as np

    import edgefl

    rng = np.random.default_rng(2)
    samples = rng.normal(size=(60, 3)).astype(np.float32)
    labels = (samples[:, :2] > 0).astype(np.float32)
    return {
        "name": "numbers",
        "rounds": ROUNDS,
        "data": {"dataset": edgefl.arrays(samples[:40], labels[:40], samples[40:], labels[40:])},
        "model": "logistic",
        "training": {"loss": "mse", "local_steps": 3, "batch_size": 8, "lr": 0.1},
        "devices": {"count": 4},
        "report": {
            "measures": [
                {"kind": kind, "by_device": True} for kind in ("binary_accuracy", "binary_scores", "mae", "r2")
            ]
        },
    }


def tables_of(result):
    """The columns of every table that a run writes, by its file."""
    ledger = result.ledger
    tables = {
        "rounds.csv": ledger.round_columns(),
        "devices.csv": ledger.device_columns(),
        "events.parquet": ledger.event_columns(),
    }
    tables |= {table.name: ledger.columns_by_rows(table) for table in ledger.tables}
    return tables | {file: make() for file, make in result.more_tables.items()}


def digest_of(result):
    """SHA-256 over all that a run has to give, without wall-clock times."""
    from edgefl.results.csv_format import csv_bytes

    whole = hashlib.sha256()
    for file, columns in sorted(tables_of(result).items()):
        whole.update(file.encode() + csv_bytes(columns))
    summary = {name: value for name, value in result.summary.items() if name != "wall_s"}
    whole.update(json.dumps([summary, result.status, result.error], sort_keys=True).encode())
    for model in (result.trained, result.best):
        if model is not None:
            for name, tensor in model.tensors.items():
                whole.update(name.encode() + tensor.tobytes())
    return whole.hexdigest()[:16]


def scenario_digests(names):
    """The digest of each shipped scenario, shortened to a few rounds (of each of two sessions)."""
    import edgefl
    from edgefl.core.errors import InputError
    from edgefl.scenario import load, shipped

    digests = {}
    if not names or EVERYTHING["name"] in names:
        digests[EVERYTHING["name"]] = digest_of(edgefl.run(EVERYTHING, device="cpu"))
    if not names or "numbers" in names:
        digests["numbers"] = digest_of(edgefl.run(of_numbers(), device="cpu"))
    for path in shipped.scenarios().values():
        if names and path.stem not in names:
            continue
        sessions = load(path).sessions
        overrides = [f"rounds={ROUNDS}"]
        if sessions is not None:
            overrides = [f"sessions.rounds={ROUNDS}"]
            # Where arrivals begin a session, their number is not given.
            if sessions.trigger is None:
                overrides.append("sessions.count=2")
        train = path.stem not in TRAIN_PRICE
        try:
            digests[path.stem] = digest_of(edgefl.run(path, overrides=overrides, train=train, device="cpu"))
        except InputError as error:
            print(f"{path.stem}: not run: {error}", file=sys.stderr)
    return digests


def pytest_addoption(parser):
    parser.addoption("--digests", help="append the digest of every run to this file")


def pytest_configure(config):
    """Have every run of the tests, also in forked processes, leave a line in the file."""
    file = config.getoption("--digests")
    if not file:
        return
    from edgefl.runs import emulation

    finish = emulation.Emulation.finish

    def recorded(self):
        result = finish(self)
        text = json.dumps([self.scenario.model_dump(mode="json"), self.options.train], sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        line = json.dumps({"key": key, "digest": digest_of(result), "status": result.status, "test": test})
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")
        return result

    emulation.Emulation.finish = recorded


def compare(before, after):
    """Print what differs; whether nothing does."""
    common = sorted(before.keys() & after.keys())
    differing = [name for name in common if before[name] != after[name]]
    for name in differing:
        print(f"DIFFERS {name}: {before[name]} before, {after[name]} now")
    for name in sorted(before.keys() - after.keys()):
        print(f"missing now: {name}")
    print(f"{len(common) - len(differing)} of {len(common)} runs have the same digest as before")
    return not differing


def compare_tests(before_file, after_file):
    """Compare the runs that tests made before and after, by scenario; whether none differs."""
    sides = []
    tests = {}
    for file in (before_file, after_file):
        digests = defaultdict(set)
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["status"] == "finished":
                digests[entry["key"]].add(entry["digest"])
                tests.setdefault(entry["key"], set()).add(entry["test"])
        sides.append(digests)
    before, after = sides
    common = before.keys() & after.keys()
    differing = sorted(key for key in common if before[key] != after[key])
    for key in differing:
        print(f"DIFFERS {key}: {sorted(before[key])} before, {sorted(after[key])} now: {sorted(tests[key])[:4]}")
    only = sorted({test for key in before.keys() - after.keys() for test in tests[key]})
    print(f"scenarios run before and now: {len(common)}; differing: {len(differing)}")
    print(f"only before: {len(before.keys() - after.keys())}; only now: {len(after.keys() - before.keys())}")
    for test in only[:40]:
        print("  only before:", test)
    return not differing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="scenarios to run; all where none is named")
    parser.add_argument("--write", metavar="FILE", help="write the digests to a file")
    parser.add_argument("--compare", metavar="FILE", help="compare with the digests of a file")
    parser.add_argument("--compare-tests", nargs=2, metavar=("BEFORE", "AFTER"), help="compare two files of the plugin")
    arguments = parser.parse_args()
    if arguments.compare_tests:
        return 0 if compare_tests(*arguments.compare_tests) else 1
    digests = scenario_digests(arguments.names)
    if arguments.write:
        Path(arguments.write).write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if arguments.compare:
        before = json.loads(Path(arguments.compare).read_text(encoding="utf-8"))
        wanted = {name: value for name, value in before.items() if not arguments.names or name in arguments.names}
        return 0 if compare(wanted, digests) else 1
    print(json.dumps(digests, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
