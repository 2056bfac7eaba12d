"""Models as files for other programs: the outputs are those of `result.model()`."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import edgefl
from edgefl import cli
from edgefl.core.errors import InputError

SMALL = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "training": {"local_steps": 2, "batch_size": 8, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 4},
    "server": {"participants": 2},
}

# After an export torch computes no gradients in forked processes.
exports = pytest.mark.own_process


def main(arguments):
    """Run a command; return its exit code, its output and its errors."""
    out = io.StringIO()
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(arguments)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def normed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("normed") / "out"
    edgefl.run({**SMALL, "model": "own_networks:Normed"}, out=folder, device="cpu")
    return folder


def outputs_agree(result, file, x, tolerance=1e-5):
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(file)
    (taken,) = session.get_inputs()
    (given,) = session.get_outputs()
    assert taken.shape == ["batch", *x.shape[1:]]
    module = result.model()
    for count in (1, 3, len(x)):
        (found,) = session.run([given.name], {taken.name: x[:count]})
        with torch.no_grad():
            expected = module(torch.from_numpy(x[:count])).numpy()
        assert found.shape == expected.shape
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)
    return session


@exports
def test_onnx_gives_the_same_outputs(normed, tmp_path):
    done = main(["export", str(normed), "--format", "onnx", "-o", str(tmp_path / "model.onnx")])
    assert done == (0, f"{tmp_path / 'model.onnx'}\n", "")
    result = edgefl.read(normed)
    data = edgefl.load(result.scenario).data.dataset.load()
    x = result.saved_model().prepared(data.test_x)
    session = outputs_agree(result, tmp_path / "model.onnx", x)
    assert [each.name for each in (*session.get_inputs(), *session.get_outputs())] == ["samples", "outputs"]
    outputs = session.run(None, {"samples": x})[0]
    assert (outputs.argmax(1) == data.test_y).mean() == result.summary["final_accuracy"]
    notes = json.loads(session.get_modelmeta().custom_metadata_map["edgefl"])
    assert notes["mean"] == data.mean
    assert notes["std"] == data.std


@pytest.mark.slow
@exports
def test_onnx_of_token_ids_and_of_double_precision(tmp_path):
    ids = np.random.default_rng(1).integers(1, 50, (20, 6))
    labels = (ids[:, 0] > 25).astype(np.int64)
    np.savez(tmp_path / "text.npz", train_x=ids, train_y=labels, test_x=ids, test_y=labels)
    text = {**SMALL, "data": {"dataset": "npz", "path": str(tmp_path / "text.npz")}}
    text["model"] = {"kind": "fasttext", "vocabulary": 50, "dimension": 4}
    curves = {**SMALL, "data": {"dataset": "quadratic", "coefficients": [[0.5, 1, 0], [1, -1, 2]]}}
    curves |= {"devices": {"count": 2}, "training": {"local_steps": 1, "lr": 0.1}}
    rows = np.random.default_rng(1).normal(size=(5, 3))
    for name, keys, x in (("text", text, ids), ("curves", curves, rows)):
        result = edgefl.run(keys, out=tmp_path / name, device="cpu")
        file = tmp_path / f"{name}.onnx"
        assert main(["export", str(tmp_path / name), "--format", "onnx", "-o", str(file)])[0] == 0
        outputs_agree(result, file, x)


@pytest.mark.slow
@exports
def test_equal_exports_have_equal_bytes(normed, tmp_path):
    for name in ("one", "two"):
        assert main(["export", str(normed), "--format", "onnx", "-o", str(tmp_path / name)])[0] == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@exports
def test_model_that_torch_cannot_translate_is_refused(tmp_path):
    folder = tmp_path / "out"
    edgefl.run({**SMALL, "model": "own_networks:Branching"}, out=folder, device="cpu")
    code, _, said = main(["export", str(folder), "--format", "onnx", "-o", str(tmp_path / "model.onnx")])
    assert code == 2
    (line,) = said.splitlines()
    assert line.startswith("edgefl: export: --format onnx: torch cannot translate this model: ")
    assert not (tmp_path / "model.onnx").exists()


@exports
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Drawing", "gives other outputs for a batch of 1 than the model itself: a forward pass must not draw"),
        ("Sized", "gives other outputs for a batch of 32 than the model itself"),
        ("Scaled", "does not take a batch of 1: "),
    ],
)
def test_model_that_torch_translates_wrongly_is_refused(name, message):
    """Straight from the module: a run would refuse some of these networks before it learned."""
    import own_networks
    import torch

    from edgefl.learning.learner.networks.as_onnx import onnx_bytes
    from edgefl.learning.trained_model import TrainedModel

    torch.manual_seed(1)
    module = getattr(own_networks, name)(10).eval()
    tensors = {key: value.numpy() for key, value in module.state_dict().items()}
    trained = TrainedModel(tensors, tuple(tensors), (8, 8), 10)
    with pytest.raises(InputError, match=f"the graph that torch has made of this model {message}"):
        onnx_bytes(module, trained, {})


def test_safetensors_is_the_file_of_the_folder(normed, tmp_path):
    out = tmp_path / "deep" / "mine.safetensors"
    assert main(["export", str(normed), "--format", "safetensors", "-o", str(out)])[0] == 0
    assert out.read_bytes() == (normed / "model.safetensors").read_bytes()


def test_refused(edgefl, finished):
    """On the command line, as users meet it: one line, and not a file is made."""
    (line,) = finished.refused("export", "out", "out", "--format", "safetensors", "-o", "model")
    assert line == "export: --format safetensors writes one model: name one result folder"
    (line,) = finished.refused("export", "nowhere", "--format", "onnx", "-o", "model")
    assert line == "nowhere: not a result folder: no such folder"
    (line,) = finished.refused("export", "out", "--format", "onnx", "--table", "rounds", "-o", "model")
    assert line == "export: --table rounds: not with --format onnx: leave it out"


@pytest.mark.oracle
def test_a_run_that_has_learned_nothing(tmp_path):
    edgefl.run(SMALL, train=False, out=tmp_path / "out")
    for form in ("onnx", "safetensors"):
        code, _, said = main(["export", str(tmp_path / "out"), "--format", form, "-o", str(tmp_path / "model")])
        assert code == 2
        assert "has no model, as nothing was learned" in said


def test_without_the_extra(normed, tmp_path, monkeypatch):
    import sys

    from edgefl.results.export import export

    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(InputError, match=r"needs onnxscript, which is missing: pip install '.*\[onnx\]'"):
        export([normed], "onnx", None, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
