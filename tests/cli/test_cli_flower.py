"""`edgefl flower` as users meet it."""

import json

from tests.cases.flower_cases import FEDAVG, write_app

WORLD = "devices: {count: 4}\nmodel: logistic\n"
OPTIONS = ("--world", "world.yaml", "--operations", "world", "-o", "out")


def test_an_app_runs_in_a_world_and_leaves_a_result_folder(edgefl):
    write_app(edgefl.folder / "app", "shell_app", FEDAVG.replace("{folder}", "."))
    edgefl.write("world.yaml", WORLD)
    done = edgefl("flower", "app", *OPTIONS, "--run-config", "num-server-rounds=2", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rounds        2\n")
    assert done.stderr.count("[ROUND 1/2]") == 1  # Flower's own lines, once each
    out = edgefl.folder / "out"
    assert (out / "rounds.csv").read_text().count("\n") == 3
    assert "Flower app shell_app" in (out / "report.html").read_text()
    assert json.loads((out / "manifest.json").read_text())["status"] == "finished"
    assert "rounds: 2\n" in (out / "scenario.yaml").read_text()
    # The scenario of the results is a world again, but nothing that runs without its app.
    again = edgefl("flower", "app", "--world", out / "scenario.yaml", "-o", "again", "--quiet", *OPTIONS[2:4])
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    alone = edgefl("run", out / "scenario.yaml", "-o", "alone", "--quiet")
    assert alone.returncode == 1
    assert "a Flower app drove this run: run it again with `edgefl flower APP" in alone.stderr


def test_a_wrong_app_or_world_is_refused_in_a_line(edgefl):
    app = write_app(edgefl.folder / "app", "wrong_app", "    raise ValueError('too late')\n")
    edgefl.write("world.yaml", WORLD)
    [line] = edgefl.refused("flower", "nothing", *OPTIONS)
    assert line.endswith("has no pyproject.toml: give the folder of a Flower app")
    edgefl.write("world.yaml", f"{WORLD}stop: {{time_s: 3}}\n")
    [line] = edgefl.refused("flower", "app", *OPTIONS)
    assert line.startswith("world.yaml:3: stop: does not go with a Flower app")
    edgefl.write("world.yaml", WORLD)
    failed = edgefl("flower", "app", *OPTIONS, "--quiet")
    assert failed.returncode == 1
    [line] = failed.stderr.splitlines()
    file = app / "wrong_app" / "server.py"
    assert line == f"edgefl: failed: {file}:16: ValueError: too late; finished rounds are in out"
