"""Devices that cannot hold a step of training: they refuse once, at no cost, and the others train as if alone."""

import numpy as np
import pytest
from server_cases import BASE, ENERGY, PARAMETERS, POLICIES, SEVEN_CELLS, SEVEN_CELLS_RADIO, TIMES, run

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.per_device import POSITIVE
from edgefl.core.streams import Streams
from edgefl.runs.assembly import rehearse
from edgefl.scenario import load
from edgefl.world.devices_section import Devices

NEED_BYTES = 4 * (3 * PARAMETERS + 8 * 8)  # the received model, the own one, its gradient; one sample of 8 x 8 pixels
SMALL = 8  # the first devices of 20
GROUPS = [
    {"name": "small", "count": SMALL, "memory_bytes": NEED_BYTES - 1},
    {"name": "large", "count": 12, "memory_bytes": NEED_BYTES},
]
DEVICES = {**BASE["devices"], "idle_power_w": 0.05, "groups": GROUPS}
MODEL = {"kind": "mlp", "hidden": [16]}
NEED_OF_MODEL_BYTES = 4 * (3 * (64 * 16 + 16 + 16 * 10 + 10) + 64 + 16 + 10)  # with both layers' outputs
FREE = [*TIMES, "wait_s", *ENERGY, "bytes_down", "bytes_up"]
BESIDE = {
    "nothing": {},
    "batteries": {"devices": {**DEVICES, "battery": {"capacity_j": 50.0, "base_w": 0.01}}},
    "set-up": {"devices": {**DEVICES, "setup_s": 1e-3, "setup_j": 0.1}},
    "processor sharing": {"radio": {**BASE["radio"], "sharing": "processor"}},
    "churn": {"churn": {"kind": "poisson", "arrivals_per_s": 3.0, "stay_s": {"exponential": 5.0}}},
    "access": {"radio": {**BASE["radio"], "access_s": 0.002}},
}
PAIRS = [(policy, name) for policy in POLICIES for name in BESIDE]


def refusals(result):
    """The rows of refusals, each of which is a small device's only one, and costs nothing."""
    rows = result.devices
    refused = rows[rows["status"] == "out_of_memory"]
    assert (refused["device"] < SMALL).all()
    assert refused["device"].is_unique
    assert (refused[FREE] == 0).all(axis=None)
    assert (rows[rows["status"] == "received"]["device"] >= SMALL).all()
    return refused


@pytest.mark.oracle
@pytest.mark.parametrize(("policy", "beside"), PAIRS)
def test_small_devices_refuse_once_under_each_policy(policy, beside):
    result = run(POLICIES[policy], **{"devices": DEVICES, "rounds": 8, **BESIDE[beside]})
    assert len(refusals(result)) >= SMALL // 2
    assert len(result.rounds) == 8
    assert (result.rounds["received"] > 0).sum() >= 7
    rows = result.devices
    assert result.rounds["selected"].sum() == len(rows)
    assert result.rounds["failed"].sum() == rows["status"].isin(["out_of_memory", "upload_failed"]).sum()
    events = result.events
    assert (events["kind"] == "out_of_memory").sum() == len(refusals(result))


def test_without_small_devices_nothing_changes():
    plain = run({}, devices=BASE["devices"])
    enough = run({}, devices={**BASE["devices"], "memory_bytes": NEED_BYTES})
    assert enough.devices.equals(plain.devices)
    assert enough.rounds.equals(plain.rounds)


@pytest.mark.parametrize(
    "keys",
    [
        {"server": {"policy": "split"}, "model": MODEL},
        {"server": {"policy": {"kind": "split", "mode": "sequential"}}, "model": MODEL},
        {"cells": {**SEVEN_CELLS, "handover": {}}, "radio": {**SEVEN_CELLS_RADIO, "spatial_consistency": True}},
        {"server": {"selection": "fedcs", "csi": "perfect", "deadline_s": 1.0, "policy": "deadline"}},
        {"rounds": None, "sessions": {"count": 2, "rounds": 4}},
    ],
    ids=["split", "split in turn", "handover", "forecasts", "sessions"],
)
@pytest.mark.oracle
def test_small_devices_refuse_beside_other_ways_to_take_part(keys):
    keys = dict(keys)
    groups = GROUPS
    if "model" in keys:  # a device computes the front: the first layer
        front_bytes = 4 * (3 * (64 * 16 + 16) + 64 + 16)
        groups = [{**GROUPS[0], "memory_bytes": front_bytes - 1}, {**GROUPS[1], "memory_bytes": front_bytes}]
    result = run(keys.pop("server", {}), **{"devices": {**DEVICES, "groups": groups}, "rounds": 8, **keys})
    assert len(refusals(result)) >= 3
    assert result.rounds["received"].sum() > 20


@pytest.mark.oracle
def test_a_candidate_refuses_the_poll_and_a_small_device_still_evaluates():
    selection = {"kind": "power_of_choice", "d": 12}
    groups = [
        {**GROUPS[0], "memory_bytes": NEED_OF_MODEL_BYTES - 1},
        {**GROUPS[1], "memory_bytes": NEED_OF_MODEL_BYTES},
    ]
    devices = {**DEVICES, "groups": groups}
    result = run({"selection": selection, "device_evaluation": {"devices": "present"}},
                 devices=devices, model=MODEL, rounds=6, train=True)  # fmt: skip
    rows = result.devices
    assert set(rows[rows["device"] < SMALL]["status"]) == {"polled", "evaluated"}
    refused = result.events[result.events["kind"] == "out_of_memory"]
    assert sorted(refused["device"]) == list(range(SMALL))
    polled = rows[(rows["device"] < SMALL) & (rows["status"] == "polled")]
    assert (polled[FREE] == 0).all(axis=None)


@pytest.mark.oracle
def test_learning_is_that_of_the_large_devices_and_what_if_prices_it(tmp_path):
    groups = [
        {**GROUPS[0], "memory_bytes": NEED_OF_MODEL_BYTES - 1},
        {**GROUPS[1], "memory_bytes": NEED_OF_MODEL_BYTES},
    ]
    keys = {"devices": {**DEVICES, "groups": groups}, "model": MODEL, "train": True}
    result = run({"participants": 20}, out=tmp_path / "run", **keys)
    chosen = {"selection": {"kind": "schedule", "rounds": [list(range(SMALL, 20))]}, "participants": 12}
    alone = run(chosen, **{**keys, "devices": BASE["devices"]})
    assert result.rounds["test_loss"].tolist() == alone.rounds["test_loss"].tolist()
    half = edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [10e6]})
    again = run({"participants": 20}, radio={**BASE["radio"], "bandwidth_hz": 10e6}, **keys)
    assert half["time_s"].iloc[-1] == pytest.approx(again.rounds["time_s"].iloc[-1])


def test_a_world_in_which_no_device_can_train_is_refused_and_a_mixed_one_warned_of(caplog):
    keys = {**BASE, "devices": {**DEVICES, "groups": [], "memory_bytes": NEED_BYTES - 1}}
    with pytest.raises(
        InputError, match=r"^devices\.memory_bytes: no device can hold .* at least 240 kB: use a smaller"
    ):
        rehearse(load(keys))
    rehearse(load({**BASE, "devices": DEVICES}))
    assert "8 of 20 devices cannot hold a step of training" in caplog.text


@pytest.mark.oracle
def test_forty_watches_cannot_fine_tune_llama():
    keys = {"devices": {"preset": "watch", "count": 40}}
    with pytest.raises(InputError, match=r"needs at least 8\.4"):
        rehearse(load("scenarios/llama-lora.yaml", [f"{key}={value}" for key, value in keys.items()]))


@pytest.mark.parametrize(
    ("training", "algorithm", "vectors"),
    [
        ({}, "fedavg", 3),
        ({"optimizer": "adam"}, "fedavg", 5),
        ({"momentum": 0.9}, "scaffold", 5),  # a control variate
    ],
)
def test_step_fits_into_what_is_counted_by_hand_and_not_into_less(training, algorithm, vectors):
    """Vectors of the model's size, and a batch of ten samples with their activations."""
    parameters = 64 * 16 + 16 + 16 * 10 + 10
    need_bytes = 4 * (vectors * parameters + 10 * (64 + 16 + 10))
    keys = {
        "data": {"dataset": "digits", "partition": "iid"},
        "model": MODEL,
        "algorithm": algorithm,
        "training": {**training, "batch_size": 10, "local_epochs": 1},
        "server": {"participants": 4},
    }
    rehearse(load({**keys, "devices": {"count": 16, "memory_bytes": need_bytes}}))
    with pytest.raises(InputError, match="no device can hold"):
        rehearse(load({**keys, "devices": {"count": 16, "memory_bytes": need_bytes - 1}}))


def test_each_device_draws_its_memory():
    devices = Devices.model_validate({"count": 1000, "memory_bytes": {"choice": [1e9, 4e9]}})
    drawn = devices.draw("memory_bytes", POSITIVE, Streams(1))
    assert set(np.unique(drawn)) == {1e9, 4e9}
