"""Measures in runs: what they record is true of the models that the run has made."""

import json

import numpy as np
import pytest
import torch

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.measures import Measure
from edgefl.records.columns import ResultColumn
from tests.cases.plugin_cases import fault_of, written

CLASSES = {
    "rounds": 3,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "model": {"kind": "mlp", "hidden": [8]},
    "training": {"local_steps": 3, "batch_size": 8, "lr": 0.2, "engine": "serial"},
    "devices": {"count": 5},
    "server": {"participants": 3},
}
MOVES = """
    from edgefl.learning.measures import Measure
    from edgefl.records.columns import ResultColumn

    class Moves(Measure):
        '''How far each tensor has moved.'''

        round_columns = (ResultColumn("move", float, "", "of the whole model"),)
        row_columns = (ResultColumn("tensor", str, "", "name"), ResultColumn("move", float, "", "of this tensor"))

        def columns(self, learned):
            return {"move": float((learned.after - learned.before).norm())}

        def rows(self, learned):
            moves = learned.tensors(learned.after - learned.before)
            return [(name, float(move.norm())) for name, move in moves.items()]
"""


def asked(*measures, **changes):
    return {**CLASSES, "report": {"measures": list(measures)}, **changes}


def outputs_of(result, samples):
    """Outputs of the final model for stored samples, in plain torch."""
    prepared = result.saved_model().prepared(samples)
    with torch.no_grad():
        return result.model()(torch.as_tensor(np.asarray(prepared))).numpy()


def test_the_confusion_matrix_holds_the_accuracy_of_each_round():
    result = edgefl.run(asked("confusion"))
    matrix = result.table("confusion")
    assert matrix["device"].isna().all()
    for number, row in enumerate(result.rounds.itertuples(), start=1):
        entries = matrix[matrix["round"] == number]
        right = entries[entries["label"] == entries["predicted"]]["samples"].sum()
        assert right / entries["samples"].sum() == pytest.approx(row.test_accuracy)


def test_device_rows_are_about_the_samples_of_each_device():
    """The final model's accuracy by device, which an independent table has as well."""
    result = edgefl.run(asked({"kind": "confusion", "by_device": True}))
    matrix = result.table("confusion")
    last = matrix[(matrix["round"] == 3) & matrix["device"].notna()]
    for row in result.device_accuracy.itertuples():
        entries = last[last["device"] == row.device]
        right = entries[entries["label"] == entries["predicted"]]["samples"].sum()
        assert entries["samples"].sum() == row.samples
        assert right / row.samples == pytest.approx(row.accuracy)


def test_every_says_which_rounds_are_measured():
    result = edgefl.run(asked({"kind": "f1", "every": 2}))
    assert result.table("f1")["round"].unique().tolist() == [2]
    assert result.rounds["f1"].isna().tolist() == [True, False, True]


@pytest.mark.oracle
def test_a_key_and_its_member_record_the_same():
    by_key = edgefl.run({**CLASSES, "report": {"device_losses": True, "gradient_norm": True, "predictions": [1, 2, 3]}})
    by_kind = edgefl.run(asked("device_losses", "gradient_norm", "predictions"))
    for name in ("device_losses", "predictions"):
        assert by_key.table(name).equals(by_kind.table(name))
        assert len(by_key.table(name))
    assert by_key.rounds.equals(by_kind.rounds)


@pytest.mark.oracle
def test_measures_change_nothing_of_what_is_learned():
    plain = edgefl.run(CLASSES)
    measured = edgefl.run(asked("f1", "auc", {"kind": "calibration", "by_device": True}, "gradient_norm"))
    assert np.array_equal(plain.parameters, measured.parameters)
    assert plain.rounds.equals(measured.rounds[plain.rounds.columns])


@pytest.mark.oracle
def test_scores_of_numbers_in_a_run(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    y = (x @ rng.normal(size=(4, 2)) + 0.1).astype(np.float32)
    scenario = {
        **asked("r2", {"kind": "mae", "by_device": True}),
        "data": {"dataset": edgefl.arrays(x[:45], y[:45], x[45:], y[45:])},
        "model": "logistic",
        "training": {"loss": "mse", "lr": 0.05, "local_steps": 5, "engine": "serial"},
    }
    result = edgefl.run(scenario, out=tmp_path / "run")
    given = outputs_of(result, x[45:])
    last = result.rounds.iloc[-1]
    assert last["mae"] == pytest.approx(np.abs(given - y[45:]).mean(), rel=1e-5)
    ratio = ((given - y[45:]) ** 2).sum(axis=0) / ((y[45:] - y[45:].mean(axis=0)) ** 2).sum(axis=0)
    assert last["r2"] == pytest.approx(1 - ratio.mean(), rel=1e-5)
    by_device = result.table("mae")
    assert set(by_device["device"]) == {0, 1, 2, 3, 4}
    final = by_device[by_device["round"] == 3]
    # All training samples belong to some device, so their mean error is that of all.
    mean = np.average(final["mae"], weights=final["samples"])
    assert mean == pytest.approx(np.abs(outputs_of(result, x[:45]) - y[:45]).mean(), rel=1e-5)
    assert final["samples"].sum() == 45


ONE_OUTPUT = """
    import numpy as np
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    RNG = np.random.default_rng(3)
    X = RNG.normal(size=(90, 4)).astype(np.float32)

    def one_label():
        y = (X[:, 0] > 0).astype(np.float32)
        return X[:70], y[:70], X[70:], y[70:]

    def labels():
        y = (X[:, :3] > 0).astype(np.float32)
        return X[:70], y[:70], X[70:], y[70:]

    def loss(outputs, labels):
        wanted = labels.reshape(outputs.shape)
        return binary_cross_entropy_with_logits(outputs, wanted, reduction="none").mean(-1)
"""


@pytest.mark.parametrize("dataset", ["one_label", "labels"])
@pytest.mark.oracle
def test_models_of_yes_or_no_labels_get_an_accuracy(tmp_path, dataset):
    """A network with one output, and one of three labels a sample: both learn to tell signs, with logits as outputs."""
    module = f"binary_{dataset}"
    scenario = {
        "rounds": 12,
        "data": {"dataset": f"{module}:{dataset}"},
        "model": "logistic",
        "training": {"loss": f"{module}:loss", "lr": 1.0, "local_steps": 10, "engine": "serial"},
        "devices": {"count": 2},
        "report": {"measures": ["binary_accuracy"]},
    }
    result = edgefl.run(written(tmp_path, scenario, **{module: ONE_OUTPUT}))
    assert result.rounds["test_accuracy"].isna().all()  # which is that of classes
    assert result.rounds["binary_accuracy"].iloc[-1] > 0.85
    assert (result.rounds["exact_match"] <= result.rounds["binary_accuracy"]).all()
    if dataset == "one_label":
        assert result.rounds["exact_match"].equals(result.rounds["binary_accuracy"].rename("exact_match"))


@pytest.mark.oracle
def test_a_measure_from_outside_is_found_everywhere(tmp_path):
    file = written(tmp_path / "here", asked("own_moves:Moves"), own_moves=MOVES)
    result = edgefl.run(file, out=tmp_path / "run")
    assert result.tables == ("moves",)
    again = edgefl.read(tmp_path / "run")
    assert again.tables == ("moves",)
    assert np.allclose(again.table("moves")["move"], result.table("moves")["move"], rtol=1e-11)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "moves.csv" in manifest["digests"]
    # Tensors divide the model, so the squares of their moves add up to that of the whole.
    squares = again.table("moves").groupby("round")["move"].apply(lambda moves: np.sqrt((moves**2).sum()))
    assert np.allclose(squares, again.rounds["move"])
    first = (tmp_path / "run" / "moves.csv").read_bytes()
    edgefl.run(tmp_path / "run" / "scenario.yaml", out=tmp_path / "again")
    assert (tmp_path / "again" / "moves.csv").read_bytes() == first


TOP_2 = """
    from edgefl.learning.measures import Score
    from edgefl.records.columns import ResultColumn

    class TopTwo(Score):
        '''Share of samples whose class is among the two highest outputs.'''

        round_columns = (ResultColumn("top_2", float, "", "on the test set"),)

        def values(self, given):
            best = given.outputs.argsort(axis=1)[:, -2:]
            return {"top_2": float((best == given.labels[:, None]).any(axis=1).mean())}
"""


@pytest.mark.oracle
def test_an_own_score_has_a_table_by_device_without_declaring_one(tmp_path):
    scenario = asked({"kind": "own_score:TopTwo", "by_device": True}, {"kind": "confusion", "by_device": True})
    result = edgefl.run(written(tmp_path / "here", scenario, own_score=TOP_2), out=tmp_path / "run")
    table = edgefl.read(tmp_path / "run").table("top_two")
    assert list(table) == ["session", "round", "device", "samples", "top_2"]
    matrix = result.table("confusion")
    right = matrix[matrix["label"] == matrix["predicted"]].groupby(["round", "device"])["samples"].sum()
    rows = table.set_index(["round", "device"])
    hits = (rows["top_2"] * rows["samples"]).loc[right.index]
    assert (hits >= right - 1e-6).all()  # the best of two is among them
    assert (rows["top_2"] <= 1).all()
    assert (hits > right + 0.5).any()


@pytest.mark.oracle
def test_a_file_of_the_users_with_the_name_of_an_own_table_is_not_replaced(tmp_path):
    file = written(tmp_path / "here", asked("kept_moves:Moves"), kept_moves=MOVES)
    folder = tmp_path / "run"
    edgefl.run(file, out=folder)
    edgefl.run(file, out=folder, overwrite=True)
    (folder / "moves.csv").write_text("weeks of work\n")
    with pytest.raises(InputError, match=r"moves\.csv: edgefl has not written this file"):
        edgefl.run(file, out=folder, overwrite=True)
    assert (folder / "moves.csv").read_text() == "weeks of work\n"


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("def rows(self, learned): return [(1,)]", "returned a row (1,), must return a list of tuples of 2 values"),
        ("def rows(self, learned): return [(1, 2.0)]", "returned an int for tensor, must return str or None there"),
        ("def rows(self, learned): return 3", "returned an int, must return a list of tuples of 2 values"),
        (
            "def columns(self, learned): return {'other': 1.0}",
            "returned a column 'other', must return a mapping of move",
        ),
        ("def columns(self, learned): return {'move': 'far'}", "returned a str for move"),
        ("def columns(self, learned): raise KeyError('gone')", "KeyError"),
        ("def rows(self, learned): return [('a', __import__('numpy').random.rand())]", "draws from numpy.random's"),
    ],
)
def test_a_measure_that_returns_something_else_is_named_with_its_line(tmp_path, body, fault, request):
    module = f"wrong_{abs(hash(request.node.name)) % 10**8}"
    text = MOVES[: MOVES.index("        def columns")] + f"        {body}\n"
    found = fault_of(written(tmp_path, asked(f"{module}:Moves"), **{module: text}))
    assert fault in found
    assert f"{module}.py:" in found


class Twice(Measure):
    """A measure that writes a table of a shipped one."""

    name = "f1"
    row_columns = (ResultColumn("label", int, "", "class"),)


class TakesAColumn(Measure):
    """A measure that writes a column of every run."""

    round_columns = (ResultColumn("time_s", float, "s", "time"),)


class Named(Measure):
    """A measure whose table would lie elsewhere."""

    name = "../elsewhere"


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ({"measures": ["f1", "f1"]}, "report.measures.1: writes the table f1.csv, as report.measures.0 does"),
        (
            {"device_losses": True, "measures": ["device_losses"]},
            "report.measures.0: writes the table device_losses.csv, as report.device_losses does",
        ),
        ({"measures": ["f1", Twice]}, "report.measures.1: writes the table f1.csv, as report.measures.0 does"),
        ({"measures": [TakesAColumn]}, "writes the column of rounds.csv time_s, as every run does"),
        ({"measures": [Named]}, "report.measures.0: its name '../elsewhere' must be lower-case letters"),
        ({"measures": ["f2"]}, 'unknown measure "f2"'),
        ({"measures": ["r2"]}, "report.measures.0: needs labels that are numbers"),
        ({"measures": ["binary_accuracy"]}, "report.measures.0: needs labels that are numbers"),
        ({"measures": [{"kind": "calibration", "bins": 0}]}, "bins: must be > 0, got 0"),
    ],
)
def test_a_wrong_measure_is_a_fault_of_the_scenario(report, fault):
    with pytest.raises(InputError) as caught:
        edgefl.run({**CLASSES, "report": report})
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.oracle
def test_a_damaged_description_of_own_tables_is_one_line(tmp_path):
    file = written(tmp_path / "here", asked("told_moves:Moves"), told_moves=MOVES)
    edgefl.run(file, out=tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["measured_tables"][0]["file"] = "../../moves.csv"
    path.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"manifest\.json: measured_tables: is damaged"):
        edgefl.read(tmp_path / "run").table("moves")
