"""Parameters that do not train: they stay bit for bit, travel once, and cost no gradient."""

import numpy as np
import odd_networks
import pytest
import torch

import edgefl
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.models.imported import Imported
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training
from edgefl.runs.emulation import Options
from edgefl.runs.forecast import forecast
from edgefl.scenario import load

LOW_RANK_TRAINED = 2 * 8 + 6 * 2
LOW_RANK_FROZEN = (8 * 6 + 6) + (6 * 3 + 3)
ADAPTED_TRAINED = 4 * 64 + 32 * 4
ADAPTED_FROZEN = (64 * 32 + 32) + (32 * 10 + 10)
FLOAT_BYTES = 4
FLOAT_BITS = 32

ADAPTED = {
    "name": "adapted",
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 4},
    "server": {"participants": 4},
    "radio": {"bandwidth_hz": 2e6},
    "training": {"local_steps": 2, "lr": 0.5, "weight_decay": 0.1},
    "model": "own_networks:Adapted",
}


def price(maker):
    model = Imported(import_path=f"odd_networks:{maker.__name__}")
    model._maker = maker
    x = np.zeros((20, 2, 4), dtype=np.float32)
    data = Data(x, np.arange(20) % 3, x, np.arange(20) % 3, classes=3)
    training = Training(local_epochs=1, batch_size="full", weight_decay=0.0)
    return measure(model, FedAvg(), training, data, np.array([20]))


def test_low_rank_factors_travel_and_what_is_frozen_travels_once():
    payload = price(odd_networks.LowRank)
    assert payload.up_bits == payload.down_bits == payload.model_bits == FLOAT_BITS * LOW_RANK_TRAINED
    assert payload.first_bits == FLOAT_BITS * LOW_RANK_FROZEN


def test_products_with_frozen_weights_are_not_differentiated_in_these():
    """Forward 48 + 16 + 12 + 18 products; backward 18 for the last layer's inputs, 12 + 12 and 16 for the factors."""
    payload = price(odd_networks.LowRank)
    assert payload.sample_flops == pytest.approx(2 * (94 + 58), rel=1e-12)
    assert payload.loss_flops == pytest.approx(2 * 94, rel=1e-12)
    solver_flops = 2 * LOW_RANK_TRAINED
    assert payload.flops == pytest.approx([20 * 2 * 152 + solver_flops])


def test_layers_before_all_trained_ones_are_not_differentiated():
    """A frozen front of 40 products, and a head of 15 that is differentiated in its weights alone."""
    assert price(odd_networks.frozen_front).sample_flops == pytest.approx(2 * (40 + 15 + 15), rel=1e-12)


def test_a_network_without_frozen_parameters_costs_three_forward_passes():
    payload = price(odd_networks.Base)
    assert payload.sample_flops == 3 * payload.loss_flops == 6 * (8 * 6 + 6 * 3)
    assert payload.first_bits == 0


@pytest.fixture(scope="module")
def result():
    return edgefl.run(ADAPTED)


def test_a_run_sends_the_frozen_part_with_the_first_download_only(result):
    downloads = 4 * FLOAT_BYTES * np.array([ADAPTED_TRAINED + ADAPTED_FROZEN, ADAPTED_TRAINED, ADAPTED_TRAINED])
    assert result.rounds["bytes_down"].tolist() == downloads.tolist()
    assert result.rounds["bytes_up"].tolist() == [4 * FLOAT_BYTES * ADAPTED_TRAINED] * 3
    assert (result.devices["rx_energy_j"][:4] > result.devices["rx_energy_j"][4:8].max()).all()


@pytest.mark.oracle
def test_frozen_parameters_stay_bit_for_bit(result):
    assert len(result.parameters) == ADAPTED_TRAINED
    trained = result.model().state_dict()
    begun = edgefl.run({**ADAPTED, "rounds": 1, "training": {**ADAPTED["training"], "lr": 1e-30}}).model().state_dict()
    for name in trained:
        is_same = torch.equal(trained[name], begun[name])
        assert is_same == name.startswith(("first", "last"))


@pytest.mark.oracle
def test_a_departed_device_that_loses_its_state_downloads_the_frozen_part_again():
    churn = {"kind": "poisson", "arrivals_per_s": 40.0, "stay_s": {"exponential": 0.01}}
    keys = {**ADAPTED, "rounds": 60, "churn": churn}
    kept, lost = (
        edgefl.run({**keys, "server": {"participants": 2, "departed_state": state}}, train=False)
        for state in ("kept", "forgotten")
    )
    frozen_bytes = FLOAT_BYTES * ADAPTED_FROZEN
    trained_bytes = FLOAT_BYTES * ADAPTED_TRAINED

    def frozen_downloads(result):
        downloads = (result.devices["download_s"] > 0).sum()
        return (result.rounds["bytes_down"].sum() - downloads * trained_bytes) / frozen_bytes

    devices = kept.devices["device"].nunique()
    assert frozen_downloads(kept) <= devices < frozen_downloads(lost) - 1


@pytest.mark.oracle
def test_a_dry_run_says_what_is_frozen_and_when_it_travels(tmp_path):
    rows = dict(forecast(load(ADAPTED), Options(), tmp_path / "out"))
    assert rows["model"].endswith(
        f": {ADAPTED_TRAINED} parameters that are trained, {ADAPTED_FROZEN:,} that are frozen"
    )
    assert rows["messages"].endswith("kB more with the first download, for what is frozen")
