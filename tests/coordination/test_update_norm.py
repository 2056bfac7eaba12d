"""Selections by the norm of updates: reports match sent updates, and training before the choice changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import edgefl
from edgefl.coordination.selection.channel_and_update import ChannelAndUpdate
from edgefl.coordination.selection.schedule import ScheduleSelection
from edgefl.coordination.selection.update_norm import UpdateNorm
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams

# Client i minimises a x^2 + b x: from x = 0 one step of rate r moves it by -r b, so that the norm is r |b|.
SLOPES = [0.3, -2.0, 1.0, -0.1, 1.5, 0.7]
LR = 0.1
WORLD: dict[str, Any] = {
    "rounds": 1,
    "data": {"dataset": "quadratic", "coefficients": [[0.5, slope, 0.0] for slope in SLOPES]},
    "model": {"kind": "quadratic"},
    "devices": {"count": len(SLOPES)},
    "training": {"local_steps": 1, "batch_size": "full", "lr": LR, "weight_decay": 0.0},
}
NORMS = LR * np.abs(SLOPES)

seen: list[ServerView] = []


class Noting(UpdateNorm):
    """Largest updates, and keeps its arguments (test)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the candidates with the largest norms."""
        seen.append(view)
        return super().choose(present, participants, index, streams, view)


def run(selection: Any, participants: int = 2, **keys: Any) -> Any:
    """Return the result of the small world under a selection."""
    seen.clear()
    server = {"participants": participants, "selection": selection} | keys.pop("server", {})
    return edgefl.run({**WORLD, "server": server, **keys})


def test_reported_norms_are_those_of_the_updates() -> None:
    result = run(Noting())
    np.testing.assert_allclose(seen[0].update_norm, NORMS, rtol=1e-6)
    chosen = result.devices.query("status == 'received'")["device"]
    assert set(chosen) == set(np.argsort(-NORMS)[:2])


def test_only_chosen_devices_upload_and_none_trains_twice() -> None:
    devices = run("update_norm").devices.set_index("device")
    chosen = devices["status"] == "received"
    assert chosen.sum() == 2
    assert (devices["status"][~chosen] == "polled").all()
    plain = run("all").devices.set_index("device")
    # All train once, chosen or not, and download once.
    np.testing.assert_allclose(devices["compute_s"], plain["compute_s"], rtol=1e-9)
    np.testing.assert_array_equal(devices["bytes_down"], plain["bytes_down"])
    # Four bytes of the norm, and those of the update besides.
    assert (devices["bytes_up"][~chosen] == 4).all()
    np.testing.assert_array_equal(devices["bytes_up"][chosen], plain["bytes_up"][chosen] + 4)


@pytest.mark.oracle
def test_training_before_the_choice_does_not_change_learning() -> None:
    world = {"rounds": 4, "training": {**WORLD["training"], "momentum": 0.5, "local_steps": 3}}
    result = run("update_norm", **world)
    chosen = [
        sorted(part.query("status == 'received'")["device"].tolist()) for _, part in result.devices.groupby("round")
    ]
    same = run(ScheduleSelection(rounds=tuple(tuple(ids) for ids in chosen)), **world)
    np.testing.assert_array_equal(result.parameters, same.parameters)


@pytest.mark.oracle
def test_real_updates_of_a_network_are_the_same_too() -> None:
    world = {"data": {"dataset": "digits"}, "model": {"kind": "mlp"}, "rounds": 3, "training": {"local_epochs": 1}}
    result = run("update_norm", **world)
    chosen = [part.query("status == 'received'")["device"].tolist() for _, part in result.devices.groupby("round")]
    same = run(ScheduleSelection(rounds=tuple(tuple(ids) for ids in chosen)), **world)
    np.testing.assert_array_equal(result.parameters, same.parameters)


def test_strong_channels_first_then_large_updates() -> None:
    server = {"csi": {"kind": "perfect", "report_bits": 0}}
    result = run({"kind": "channel_and_update", "candidates_by_channel": 4}, server=server)
    devices = result.devices
    assert len(devices) == 4
    by_channel = run({"kind": "best_channel"}, 4, server=server).devices["device"]
    assert set(devices["device"]) == set(by_channel)
    best = max(by_channel, key=lambda device: NORMS[device])
    assert best in set(devices.query("status == 'received'")["device"])


def test_with_time_for_all_parameters_channels_do_not_count() -> None:
    server = {"csi": {"kind": "perfect", "report_bits": 0}}
    result = run({"kind": "channel_and_update", "variant": "bn2_c", "upload_s": 1e6}, server=server)
    assert set(result.devices.query("status == 'received'")["device"]) == set(np.argsort(-NORMS)[:2])


@pytest.mark.oracle
def test_largest_parameters_count(monkeypatch: pytest.MonkeyPatch) -> None:
    world = {"data": {"dataset": "digits"}, "model": {"kind": "mlp"}, "training": {"local_epochs": 1}}
    parameters = len(run(Noting(), **world).parameters)
    every = seen[0].update_norm.copy()
    counts = np.array([1, 10, 100, 1000, 10**9, 10**9])
    monkeypatch.setattr(Noting, "polled_parameters", lambda _self, ids, _view: np.minimum(counts[ids], parameters))
    run(Noting(), **world)
    some = seen[0].update_norm
    assert (some[:4] < every[:4]).all()
    np.testing.assert_allclose(some[4:], every[4:], rtol=1e-6)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"report": {"models": ["all"]}}, "report.models: the selection update_norm"),
    ],
)
def test_algorithms_that_training_before_the_choice_would_change_are_refused(
    keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(edgefl.InputError, match=message):
        run("update_norm", **keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"variant": "bn2_c"}, "is required with bn2_c"),
        ({"variant": "bn2_c", "upload_s": 1.0, "candidates_by_channel": 3}, "belongs to bc_bn2"),
    ],
)
def test_keys_of_the_other_variant_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChannelAndUpdate(**keys)
