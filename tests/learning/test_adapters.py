"""LoRA adapters: sizes, first outputs, gradients, and a language model that learns with them."""

import importlib.util
import math
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.models.decoder import Decoder
from edgefl.learning.models.llama import Llama
from edgefl.learning.models.lora import with_lora
from edgefl.scenario import load

FLOAT_BYTES = 4
RANK = 4
WIDTH = 32
DEVICES = 3
BRANCHES = 2

TINY = {
    "name": "tiny",
    "rounds": 2,
    "data": {"dataset": "tokens", "vocabulary": 16, "length": 12, "rows": 8, "branches": BRANCHES, "owners": DEVICES},
    "model": {
        "kind": "llama",
        "depth": 2,
        "width": WIDTH,
        "hidden": 48,
        "kv_heads": 2,
        "adapters": {"rank": RANK, "alpha": 8, "on": ["q_proj", "v_proj"]},
    },
    "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1},
    "server": {"participants": DEVICES},
}
# k_proj and v_proj have half of the heads, and so half of the outputs
ADAPTERS = 2 * RANK * ((WIDTH + WIDTH) + (WIDTH + WIDTH // 2))


@pytest.mark.oracle
def test_llama_3_2_has_its_published_size_and_that_of_its_adapters():
    """1,235,814,400 parameters (config of Llama 3.2 1B); peft prints 851,968 trained ones for rank 8 on q and v."""
    model = {"kind": "llama", "depth": 16, "width": 2048, "heads": 32, "kv_heads": 8, "hidden": 8192}
    adapters = {"rank": 8, "on": ["q_proj", "v_proj"]}
    scenario = load({"model": {**model, "adapters": adapters}, "data": {"dataset": "tokens"}})
    assert scenario.model.parameters((8,), 128_256) == 1_235_814_400
    assert scenario.network.parameters((8,), 128_256) == 851_968
    assert scenario.network.frozen_parameters((8,), 128_256) == 1_235_814_400


@cache
def adapted(engine):
    return edgefl.run({**TINY, "training": {**TINY["training"], "engine": engine}})


@pytest.mark.oracle
def test_adapters_alone_train_and_travel():
    result = adapted("serial")
    base = load(TINY).model.parameters((12,), 16)
    first, second = result.rounds["bytes_down"].tolist()
    assert second == DEVICES * FLOAT_BYTES * ADAPTERS
    assert first == second + DEVICES * FLOAT_BYTES * base
    assert result.rounds["bytes_up"].tolist() == [second, second]
    keys = {**TINY, "rounds": 1, "training": {**TINY["training"], "lr": 1e-30}}
    before = edgefl.run(keys).model().state_dict()
    for name, value in result.model().state_dict().items():
        assert torch.equal(before[name], value) != ("lora_" in name)


def test_layer_with_adapter_first_computes_what_it_did_and_then_adds_the_product():
    torch.manual_seed(1)
    plain = nn.Sequential(nn.Linear(5, 3))
    x = torch.randn(7, 5)
    before = plain(x)
    adapted = with_lora(plain, ["0"], rank=2, alpha=6.0)
    assert torch.equal(adapted(x), before)
    with torch.no_grad():
        adapted[0].lora_B.normal_()
    merged = adapted[0].weight + 3.0 * adapted[0].lora_B @ adapted[0].lora_A
    torch.testing.assert_close(adapted(x), x @ merged.T + adapted[0].bias)


@pytest.mark.oracle
def test_frozen_weights_cost_no_gradient():
    """Of a step's three products with each matrix the one for its gradient is left out, but for the small ones."""
    full = Llama(depth=4, width=256, hidden=512)
    scenario = load({"model": {**full.model_dump(), "kind": "llama", "adapters": {"on": ["v_proj"]}}})
    passes = scenario.network.training_passes((64,), 256, tokens=True)
    assert 1.9 < passes < 2.1
    assert full.training_passes((64,), 256, tokens=True) == 3.0


@pytest.mark.oracle
def test_frozen_numbers_travel_in_their_bits():
    keys = {**TINY["model"], "adapters": {**TINY["model"]["adapters"], "frozen_bits": 16}}
    runs = [edgefl.run({**TINY, "rounds": 1, "model": model}, train=False) for model in (TINY["model"], keys)]
    frozen = [result.rounds["bytes_down"].iloc[0] - DEVICES * FLOAT_BYTES * ADAPTERS for result in runs]
    assert frozen[0] == 2 * frozen[1]


def test_later_tokens_do_not_reach_earlier_outputs():
    torch.manual_seed(2)
    decoder = Decoder(vocabulary=11, depth=2, width=16, heads=2, kv_heads=1, hidden=24, rope_base=1e4)
    ids = torch.randint(11, (3, 9))
    changed = ids.clone()
    changed[:, 5:] = (ids[:, 5:] + 1) % 11
    first = decoder(ids)
    second = decoder(changed)
    torch.testing.assert_close(first[..., :5], second[..., :5])
    assert not torch.allclose(first[..., 5:], second[..., 5:])


@pytest.mark.oracle
def test_small_language_model_learns_and_its_adapters_go_on():
    """The loss begins at ln(16) and ends above ln(2), the entropy of the language; adapters then learn another one."""
    language = {**TINY["data"], "rows": 64}
    model = {key: value for key, value in TINY["model"].items() if key != "adapters"} | {"depth": 1}
    training = {"local_steps": 40, "batch_size": 16, "lr": 0.03, "optimizer": "adam"}
    keys = {**TINY, "data": language, "model": model, "training": training}
    losses = edgefl.run(keys).rounds["test_loss"].tolist()
    assert math.log(BRANCHES) < losses[-1] < 1.2 < losses[0] + 0.6
    tuned = edgefl.run({**keys, "model": {**model, "adapters": {"rank": 8, "on": ["*_proj"]}}})
    assert tuned.rounds["test_loss"].iloc[-1] < math.log(16) - 0.2


@pytest.mark.oracle
def test_adapters_learn_the_same_one_by_one_and_together():
    alone = adapted("serial").parameters
    assert np.abs(alone).max() > 0
    assert adapted("vmap").parameters == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (
            {"adapters": {"on": ["q_prj"]}},
            r"model\.adapters\.on: 'q_prj' names no linear layer.*; there are: layers\.0",
        ),
        ({"width": 30}, r"model\.width: must be a multiple of 2 x heads"),
        ({"kv_heads": 3}, r"model\.kv_heads: must divide heads"),
    ],
)
def test_wrong_key_is_named_with_a_remedy(model, text):
    with pytest.raises(InputError, match=text):
        edgefl.run({**TINY, "model": {**TINY["model"], **model}}, train=False)


def test_adapters_that_do_not_train_are_refused():
    training = {**TINY["training"], "parts": {"train": ["norm"]}}
    with pytest.raises(InputError, match=r"training\.parts\.train: leaves out the adapters: add \*lora_\*"):
        edgefl.run({**TINY, "training": training}, train=False)


NEEDS_PEFT = pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft is not installed")


def bytes_in_file_of_peft(module, on, folder):
    """Bytes of the tensors in the adapter file that peft saves for a module."""
    from peft import LoraConfig, get_peft_model
    from safetensors.numpy import load_file

    get_peft_model(module, LoraConfig(r=RANK, target_modules=on)).save_pretrained(folder)
    tensors = load_file(folder / "adapter_model.safetensors")
    return sum(np.asarray(tensor).nbytes for tensor in tensors.values())


@pytest.mark.oracle
@NEEDS_PEFT
@pytest.mark.parametrize("on", [["q_proj", "v_proj"], ["gate_proj", "up_proj", "down_proj"]])
def test_adapters_on_the_air_are_the_tensors_of_pefts_file(on, tmp_path):
    decoder = Decoder(vocabulary=16, depth=2, width=WIDTH, heads=4, kv_heads=2, hidden=48, rope_base=1e4)
    model = {**TINY["model"], "adapters": {"rank": RANK, "on": on}}
    result = edgefl.run({**TINY, "rounds": 1, "model": model}, train=False)
    assert result.rounds["bytes_up"].iloc[0] == DEVICES * bytes_in_file_of_peft(decoder, on, tmp_path)


class Bert(nn.Module):
    """An encoder of `transformers` that sorts rows of token ids; each of its linear layers has a bias."""

    def __init__(self, classes):
        from transformers import BertConfig, BertForSequenceClassification

        super().__init__()
        sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 80}
        config = BertConfig(vocab_size=16, max_position_embeddings=12, num_labels=classes, **sizes)
        self.bert = BertForSequenceClassification(config)

    def forward(self, x):
        return self.bert(x).logits


@pytest.mark.oracle
@NEEDS_PEFT
@pytest.mark.parametrize("on", [["query", "value"], ["dense", "classifier"]])
def test_adapters_of_an_encoder_are_the_tensors_of_pefts_file(on, tmp_path):
    """The names differ from Llama's, and `dense` is square in attention and wide or narrow after it."""
    rng = np.random.default_rng(0)
    x = rng.integers(16, size=(DEVICES * 8, 12))
    y = np.arange(len(x)) % 3
    keys = {
        **TINY,
        "rounds": 1,
        "data": {"dataset": edgefl.arrays(x, y, x, y)},
        "model": {"kind": Bert, "adapters": {"rank": RANK, "on": on}},
        "devices": {"count": DEVICES},
    }
    result = edgefl.run(keys, train=False)
    assert result.rounds["bytes_up"].iloc[0] == DEVICES * bytes_in_file_of_peft(Bert(3), on, tmp_path)
