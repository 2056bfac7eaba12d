"""A ServerApp's own tests of its model are heard wherever a strategy makes them, and replace those of clients."""

import pickle

import numpy as np
import pytest

from tests.cases.flower_cases import emulated, write_app

pytestmark = pytest.mark.oracle

# A strategy's `start` as Flower has it, copied into the app: what evaluate_fn finds goes to a result, or nowhere.
COPIED = """
from flwr.app import ConfigRecord
from flwr.serverapp.strategy import FedAvg, Result

class Own(FedAvg):
    def start(self, grid, initial_arrays, num_rounds=3, timeout=3600, train_config=None, evaluate_config=None,
              evaluate_fn=None):
        result = Result()
        arrays = initial_arrays
        if evaluate_fn:
            found = evaluate_fn(0, arrays)
            KEEP(0, found)
        for current_round in range(1, num_rounds + 1):
            replies = grid.send_and_receive(
                self.configure_train(current_round, arrays, ConfigRecord(), grid), timeout=timeout)
            arrays, _ = self.aggregate_train(current_round, replies)
            self.aggregate_evaluate(current_round, grid.send_and_receive(
                self.configure_evaluate(current_round, arrays, ConfigRecord(), grid), timeout=timeout))
            if evaluate_fn:
                found = evaluate_fn(current_round, arrays)
                KEEP(current_round, found)
        result.arrays = arrays
        return result
"""
STRATEGIES = {
    "a copy of the loop": COPIED.replace("KEEP", "result.evaluate_metrics_serverapp.__setitem__"),
    "a copy that keeps no result": COPIED.replace("KEEP", "print"),
    "a call of super": """
from flwr.serverapp.strategy import FedAvg

class Own(FedAvg):
    def start(self, *args, **options):
        return super().start(*args, **options)
""",
    "a test of its own, given to super": """
from flwr.app import MetricRecord
from flwr.serverapp.strategy import FedAvg

class Own(FedAvg):
    def start(self, grid, initial_arrays, evaluate_fn, num_rounds):
        return super().start(grid, initial_arrays, num_rounds, 3600, None, None, lambda *test: evaluate_fn(*test))
""",
    "a subclass of a subclass": COPIED.replace("KEEP", "print")
    + """
class Middle(Own):
    pass

class Own(Middle):
    def start(self, grid, initial_arrays, evaluate_fn, num_rounds):
        return super().start(grid, initial_arrays, num_rounds, evaluate_fn=evaluate_fn)
""",
}
# The app's own test measures 0.01 for each round, so that the clients' means, 0.1 and more, are told apart.
TESTED = """
    from flwr.app import MetricRecord
    def tested(server_round, arrays):
        return MetricRecord({"accuracy": server_round / 100 + 0.01, "loss": 9.0 - server_round})
    start = ask([1000])[0].content["arrays"]
"""
STARTED = TESTED + "    Own().start(grid, start, num_rounds=3, evaluate_fn=tested)\n"


def central(folder, strategy, main=STARTED, *, late=False):
    """The result of an app whose ServerApp imports the strategy `Own`; only in its main function if `late`."""
    app = write_app(folder / "app", "central_app", main)
    (app / "central_app" / "strategy.py").write_text(strategy)
    server = app / "central_app" / "server.py"
    text = server.read_text()
    line = "from central_app.strategy import Own\n"
    server.write_text(text.replace("(grid, context):\n", f"(grid, context):\n    {line}") if late else line + text)
    result = emulated(app)
    assert result.error is None
    return result


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_test_of_a_strategy_with_its_own_start_is_heard(tmp_path, name):
    """Every second strategy is imported late."""
    rounds = central(tmp_path, STRATEGIES[name], late=list(STRATEGIES).index(name) % 2 == 1).rounds
    assert rounds["test_accuracy"].tolist() == [0.02, 0.03, 0.04]
    assert rounds["test_loss"].tolist() == [8.0, 7.0, 6.0]
    assert (rounds["answered"] > 0).all()  # clients have tested the model, too


def test_a_wrapper_of_a_test_has_the_last_word(tmp_path):
    strategy = """
from flwr.app import MetricRecord
from flwr.serverapp.strategy import FedAvg

class Own(FedAvg):
    def start(self, grid, initial_arrays, num_rounds, evaluate_fn):
        def corrected(server_round, arrays):
            found = evaluate_fn(server_round, arrays)
            return MetricRecord({"accuracy": 1 - found["accuracy"], "loss": found["loss"]})
        return super().start(grid, initial_arrays, num_rounds, evaluate_fn=corrected)
"""
    assert central(tmp_path, strategy).rounds["test_accuracy"].tolist() == [1 - 0.02, 1 - 0.03, 1 - 0.04]


def test_a_strategy_that_tests_without_evaluate_fn_is_heard_through_its_result(tmp_path):
    strategy = COPIED.replace("if evaluate_fn:", "if True:").replace("evaluate_fn(", "self.tested(")
    strategy = strategy.replace("KEEP", "result.evaluate_metrics_serverapp.__setitem__")
    strategy += """
    def tested(self, server_round, arrays):
        return (9.0 - server_round, {"accuracy": server_round / 100 + 0.01})
"""
    main = TESTED + "    Own().start(grid, start, num_rounds=3)\n"
    rounds = central(tmp_path, strategy, main).rounds
    assert rounds["test_accuracy"].tolist() == [0.02, 0.03, 0.04]
    assert rounds["test_loss"].tolist() == [8.0, 7.0, 6.0]


def test_a_result_can_be_saved_and_read_without_the_emulation(tmp_path):
    main = f"""{STARTED.replace("    Own()", "    result = Own()")}
    import copy, pathlib, pickle
    pathlib.Path("{tmp_path}/result").write_bytes(pickle.dumps(copy.deepcopy(result).evaluate_metrics_serverapp))
"""
    central(tmp_path, STRATEGIES["a call of super"], main)
    found = pickle.loads((tmp_path / "result").read_bytes())  # noqa: S301 - the test's own file
    assert type(found) is dict
    assert {number: metrics["accuracy"] for number, metrics in found.items()} == {0: 0.01, 1: 0.02, 2: 0.03, 3: 0.04}


def test_the_initial_test_of_a_second_strategy_leaves_the_last_round_of_the_first(tmp_path):
    main = TESTED + "    for _ in range(2):\n        Own().start(grid, start, num_rounds=2, evaluate_fn=tested)\n"
    rounds = central(tmp_path, STRATEGIES["a call of super"], main).rounds
    assert rounds["test_accuracy"].tolist() == [0.02, 0.03, 0.02, 0.03]


def test_rounds_that_an_app_counts_from_zero_keep_their_tests(tmp_path):
    strategy = COPIED.replace("KEEP", "print").replace("range(1, num_rounds + 1)", "range(num_rounds)")
    strategy = strategy.replace("evaluate_fn(0, arrays)", "None")
    assert central(tmp_path, strategy).rounds["test_accuracy"].tolist() == [0.01, 0.02, 0.03]


def test_numbers_of_numpy_are_metrics(tmp_path):
    strategy = COPIED.replace("KEEP", "print")
    main = """
    def tested(server_round, arrays):
        return {"accuracy": np.float32(0.25), "loss": np.int64(3)}
    start = ask([1000])[0].content["arrays"]
    Own().start(grid, start, num_rounds=1, evaluate_fn=tested)
"""
    [row] = central(tmp_path, strategy, main).rounds[["test_accuracy", "test_loss"]].to_numpy()
    np.testing.assert_array_equal(row, [0.25, 3])
