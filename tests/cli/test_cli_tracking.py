"""`edgefl run --tensorboard` and `--wandb`: read back with the packages' own readers, or a stand-in."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import edgefl
from edgefl.cli import main
from edgefl.results import tracking
from edgefl.scenario import load

SCENARIO = """name: tracked
rounds: 4
seed: 3
data: {dataset: quadratic, coefficients: [[0.5, 1, 0], [0.5, -1, 0], [1, 0, 0]]}
training: {local_steps: 2, batch_size: full, lr: 0.1}
server: {participants: 2}
algorithm: {kind: fedprox, mu: 0.5}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


def run(*arguments, out="out"):
    return main(["run", "s.yaml", "-o", out, "--quiet", "--device", "cpu", *arguments])


def expected(folder):
    """Column by column: round and value, of what is there."""
    import pandas as pd

    rounds = pd.read_csv(folder / "rounds.csv").set_index("round").drop(columns="session").dropna(axis=1, how="all")
    return {name: list(column.dropna().items()) for name, column in rounds.items()}


def scalars(folder):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reader.EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name] == [(step, pytest.approx(value, rel=1e-6)) for step, value in values]


@pytest.mark.oracle
def test_tensorboard_has_the_rounds(here):
    pytest.importorskip("tensorboard")
    assert run("--tensorboard") == 0
    wanted = expected(here / "out")
    assert {"time_s", "energy_j", "train_loss", "distance_to_optimum"} <= wanted.keys()
    same(scalars(here / "out/tensorboard"), wanted)


@pytest.mark.oracle
def test_tensorboard_has_the_scenario(here):
    metadata = pytest.importorskip("tensorboard.plugins.hparams.metadata")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert run("--no-train", "--tensorboard", "events") == 0
    events = EventAccumulator("events")
    events.Reload()
    content = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
    parameters = metadata.parse_session_start_info_plugin_data(content).hparams
    assert parameters["algorithm.mu"].number_value == 0.5
    assert parameters["algorithm.kind"].string_value == "fedprox"
    assert parameters["server.participants"].number_value == 2


@pytest.mark.oracle
def test_a_run_never_mixes_with_an_earlier_one(here, capsys):
    pytest.importorskip("tensorboard")
    assert run("--no-train", "--tensorboard", "events") == 0
    assert run("--no-train", "--tensorboard", "events", out="other") == 2
    assert "--tensorboard events: holds TensorBoard's events already" in capsys.readouterr().err
    assert not (here / "other").exists()
    assert run("--no-train", "--tensorboard", "events", "--overwrite", "--set", "rounds=2") == 0
    same(scalars(here / "events"), expected(here / "out"))


def test_a_tracker_that_fails_leaves_the_run_alone(here, caplog):
    """Warned of once; the rounds are the same as ever."""

    class Failing(tracking.Tracker):
        option = "--failing"

        def open(self):
            pass

        def close(self):
            pass

        def log(self, step, figures):
            steps.append(step)
            if step == 2:
                raise OSError("the disk is full")

    steps = []
    scenario = load(here / "s.yaml")
    with Failing(scenario) as tracker:
        result = edgefl.run(scenario, train=False, progress=tracker)
    assert (result.status, len(result.rounds), steps) == ("finished", 4, [1, 2])
    assert [record.message for record in caplog.records] == [
        "--failing: logs no more from round 2 on: the disk is full"
    ]


@pytest.mark.oracle
def test_trackers_do_not_change_results(here):
    pytest.importorskip("tensorboard")
    assert run() == run("--tensorboard", out="tracked") == 0
    for name in ("rounds.csv", "devices.csv", "scenario.yaml"):
        assert (here / "out" / name).read_bytes() == (here / "tracked" / name).read_bytes()


def test_missing_package_is_refused_in_one_line(here, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert run("--tensorboard", "there") == 2
    line = "--tensorboard: needs tensorboard, which is missing: pip install 'edgefl-emulator[tensorboard]'"
    assert capsys.readouterr().err == f"edgefl: {line}\n"
    assert [path.name for path in here.iterdir()] == ["s.yaml"]


@pytest.fixture
def wandb(monkeypatch):
    """Return a stand-in for the package, with the calls that it got."""
    calls = SimpleNamespace(begun=[], rounds=[], codes=[], broken=False)
    errors = ModuleType("wandb.errors")
    errors.Error = type("Error", (Exception,), {})

    def log(figures, step):
        if calls.broken:
            raise errors.Error("no\nnetwork")
        calls.rounds.append((step, figures))

    def finish(exit_code):
        calls.codes.append(exit_code)

    def init(**settings):
        calls.begun.append(settings)
        return SimpleNamespace(log=log, finish=finish)

    package = ModuleType("wandb")
    package.init = init
    package.Settings = dict
    package.errors = errors
    monkeypatch.setitem(sys.modules, "wandb", package)
    monkeypatch.setitem(sys.modules, "wandb.errors", errors)
    return calls


@pytest.mark.oracle
def test_wandb_has_rounds_and_scenario(here, wandb):
    assert run("--wandb", "my-project") == 0
    (begun,) = wandb.begun
    assert (begun["project"], begun["group"], begun["name"]) == ("my-project", "tracked", "tracked seed-3")
    assert begun["config"]["algorithm.mu"] == 0.5
    assert begun["config"]["server.policy.kind"] == "synchronous"
    found = {}
    for step, figures in wandb.rounds:
        for name, value in figures.items():
            found.setdefault(name, []).append((step, value))
    same(found, expected(here / "out"))
    assert wandb.codes == [0]


@pytest.mark.oracle
def test_wandb_that_fails_leaves_the_run_alone(here, wandb, caplog):
    wandb.broken = True
    assert run("--wandb", "my-project") == 0
    assert [record.message for record in caplog.records] == ["--wandb: logs no more from round 1 on: no network"]


def test_missing_wandb_is_one_line_and_writes_nothing(here, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert run("--wandb", "my-project") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "edgefl: --wandb: needs wandb, which is missing: pip install 'edgefl-emulator[wandb]'"
    assert not (here / "out").exists()


@pytest.mark.oracle
def test_wandb_offline_keeps_a_run_in_a_folder(here, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert run("--wandb", "my-project") == 0
    assert list(here.glob("wandb/offline-run-*/*.wandb"))
