"""Apps that cannot be read, imported or run: one line each, with the app's own file and line."""

import sys

import pytest

import edgefl.flower.emulate
from edgefl.core.errors import InputError
from tests.cases.flower_cases import CLIENT, WORLD, emulated, write_app

TRAIN = "    grid.send_and_receive(ask(list(grid.get_node_ids())))\n"


def refusal(app, **options):
    """The one line that refuses an app; nothing was written."""
    with pytest.raises(InputError) as refused:
        emulated(app, **options)
    [line] = refused.value.faults
    assert "\n" not in line
    assert not (app.parent / f"{app.name}-results").exists()
    return line


def test_a_folder_without_an_app_is_refused(tmp_path):
    folder = tmp_path / "app"
    assert refusal(folder) == f"{folder}: has no pyproject.toml: give the folder of a Flower app"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[tool.flwr.app.components]", "[tool.other]", "Missing [tool.flwr.app.components] section"),
        ('"broken_app.server:app"', '"broken_app.nothing:app"', "Unable to load module broken_app.nothing"),
        (
            '"broken_app.server:app"',
            '"broken_app.client:app"',
            "broken_app.client:app must be a ServerApp, got ClientApp",
        ),
        ("[project]", "[project", "Expected ']'"),
    ],
    ids=["no components", "no module", "client", "no TOML"],
)
def test_a_wrong_pyproject_is_refused_by_what_is_wrong_in_it(tmp_path, old, new, reason):
    app = write_app(tmp_path / "app", "broken_app", TRAIN)
    file = app / "pyproject.toml"
    file.write_text(file.read_text().replace(old, new))
    line = refusal(app)
    assert line.startswith(f"{file}: ")
    assert reason in line


def test_an_app_of_the_older_interface_is_refused_with_the_name_of_the_present_one(tmp_path):
    app = write_app(tmp_path / "app", "older_app", TRAIN)
    (app / "older_app" / "server.py").write_text(
        "from flwr.serverapp import ServerApp\n\napp = ServerApp(server_fn=lambda context: None)\n"
    )
    line = refusal(app)
    assert line.startswith(f"{app / 'pyproject.toml'}: older_app.server:app has no main function")
    assert "@app.main()" in line


@pytest.mark.parametrize(
    ("file", "text", "where"),
    [
        ("client.py", "a = = 2\napp = None\n", "client.py:1: SyntaxError: invalid syntax"),
        ("client.py", "import sys\nsys.exit(0)\napp = None\n", "client.py:2: SystemExit: 0"),
        ("client.py", "\nraise BaseException('x')\napp = None\n", "client.py:2: BaseException: x"),
        ("__init__.py", "import sys\nsys.exit(0)\n", "__init__.py:2: SystemExit: 0"),
        ("__init__.py", "1 / 0\n", "__init__.py:1: ZeroDivisionError: division by zero"),
    ],
)
def test_any_exception_of_an_apps_import_is_one_line(tmp_path, file, text, where):
    name = f"import_app_{len(text)}"
    app = write_app(tmp_path / "app", name, TRAIN)
    (app / name / file).write_text(text)
    assert refusal(app) == f"{app / name}/{where}"


@pytest.mark.parametrize("text", ["num-server-rounds", "no-such-key=3", "lr='"], ids=["no value", "no key", "no text"])
def test_a_wrong_run_configuration_is_refused(tmp_path, text):
    app = write_app(tmp_path / "app", "configured_app", TRAIN)
    assert refusal(app, run_config=text).startswith(f"--run-config {text}: ")


def test_the_run_configuration_replaces_keys_of_the_file(tmp_path):
    from edgefl.flower.app_folder import read_app  # here, as it imports Flower

    app = write_app(tmp_path / "app", "configured_app", TRAIN)
    assert read_app(app, "lr=0.25").run_config == {"num-server-rounds": 3, "lr": 0.25}
    assert read_app(app).name == "configured_app"


@pytest.mark.oracle
def test_two_apps_with_the_same_module_names_do_not_meet(tmp_path):
    results = []
    for count in (1, 2):
        folder = tmp_path / str(count)
        app = write_app(
            folder / "app", "same_name", f"    grid.send_and_receive(ask(list(grid.get_node_ids())[:{count}]))\n"
        )
        path = list(sys.path)
        results.append(len(emulated(app).devices))
        assert sys.path == path
    assert results == [1, 2]


@pytest.mark.oracle
def test_a_client_that_fails_ends_the_run_with_its_own_line_and_keeps_the_rounds_before(tmp_path):
    first_line = '    w = message.content["arrays"]["w"].numpy()\n'
    failing_line = '    context.run_config["lr"] / message.content["config"]["left"]\n'
    client = CLIENT.replace(first_line, first_line + failing_line)
    main = """
    for left in (1, 0):
        messages = ask(list(grid.get_node_ids()))
        for message in messages:
            message.content["config"]["left"] = left
        grid.send_and_receive(messages)
"""
    app = write_app(tmp_path / "app", "failing_app", main, client)
    result = emulated(app)
    assert result.status == "failed"
    place = f"{app / 'failing_app' / 'client.py'}:11"
    where = "device 0, which is partition-id 0; train message of round 2"
    line, _, remedy = result.error.partition("; if ")
    assert line == f"{place}: ZeroDivisionError: float division by zero ({where})"
    assert remedy.startswith("the device has no samples, divide the app's data so that each one has some")
    assert len(result.rounds) == 1
    assert (result.folder / "report.html").exists()


@pytest.mark.oracle
def test_a_server_that_fails_or_exits_ends_the_run_with_its_own_line(tmp_path):
    for name, last, error in (
        ("raising_app", "    raise KeyError('x')\n", "KeyError: 'x'"),
        ("leaving_app", "    import sys\n    sys.exit('enough')\n", "SystemExit: enough"),
    ):
        app = write_app(tmp_path / name / "app", name, TRAIN + last)
        result = emulated(app)
        assert result.status == "failed"
        assert result.error.startswith(f"{app / name / 'server.py'}:")
        assert result.error.endswith(error)
        assert len(result.rounds) == 1


@pytest.mark.oracle
@pytest.mark.parametrize("raised", ["SystemExit(0)", "BaseException(0)", "GeneratorExit(0)"])
def test_app_that_raises_a_base_exception_has_failed(tmp_path, raised):
    """In an `aggregate_train`, and in a client."""
    aggregate = f"""
    from flwr.serverapp.strategy import FedAvg
    class Mine(FedAvg):
        def aggregate_train(self, server_round, replies):
            raise {raised}
    Mine().start(grid, ask([1000])[0].content["arrays"], num_rounds=2)
"""
    client = CLIENT.replace("    w = ", f"    raise {raised}\n    w = ")
    where = " (device 0, which is partition-id 0; train message of round 1)"
    for name, main, own_client, file, place in (
        ("strict_server", aggregate, CLIENT, "server.py:20", ""),
        ("strict_client", TRAIN, client, "client.py:10", where),
    ):
        app = write_app(tmp_path / name / "app", name, main, own_client)
        result = emulated(app)
        assert result.status == "failed"
        assert result.error == f"{app / name / file}: {raised.partition('(')[0]}: 0{place}"
        assert (result.folder / "summary.json").exists()


@pytest.mark.oracle
@pytest.mark.parametrize("weight", ["np.nan", "-np.inf"])
def test_a_client_whose_weights_diverge_ends_the_run(tmp_path, weight):
    client = CLIENT.replace(
        '    metrics = MetricRecord({"train_loss"',
        f'    if message.content["config"]["bad"] == context.node_config["partition-id"]:\n        own[7] = {weight}\n'
        '    metrics = MetricRecord({"train_loss"',
    )
    main = """
    for bad in (-1, 5):
        messages = ask(list(grid.get_node_ids()))
        for message in messages:
            message.content["config"]["bad"] = bad
        grid.send_and_receive(messages)
"""
    result = emulated(write_app(tmp_path / "app", "diverging_app", main, client))
    assert result.status == "failed"
    assert result.error == "the update of device 5 diverged (NaN or infinite in w); lower the app's learning rate"
    assert result.manifest["diverged"].startswith("the update of device 5 diverged")
    assert len(result.rounds) == 1


def test_a_server_whose_model_diverges_ends_the_run(tmp_path):
    main = """
    messages = ask(list(grid.get_node_ids()))
    messages[0].content["arrays"]["w"] = Array(np.full(PARAMETERS, np.nan, dtype=np.float32))
    grid.send_and_receive(messages)
"""
    result = emulated(write_app(tmp_path / "app", "diverged_app", main))
    assert result.status == "failed"
    assert result.error.startswith("the model that the ServerApp sends to device 0 diverged (NaN or infinite in w)")


def test_without_flower_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr", None)
    with pytest.raises(InputError, match=r"edgefl flower: needs flwr, which is missing: pip install '.*\[flower\]'"):
        edgefl.flower.emulate.emulate(tmp_path, WORLD)
