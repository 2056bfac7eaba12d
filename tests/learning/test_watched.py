"""Hooks of algorithms from outside that go wrong within a run: the error names the hook, not the learning rate."""

import pytest
import torch
from algorithm_cases import digits

import edgefl
from edgefl.core.plugin_import import shown_file
from edgefl.learning.algorithms.fedavg import FedAvg


class NoNumberLater(FedAvg):
    """Divides by 0 from the third round on."""

    def correct(self, gradient, w, local):
        return gradient / (local.index < 2)


class FailsLater(FedAvg):
    """Finds something wrong in the second round."""

    def finish(self, w, local):
        if float(local.index.max()) > 0:
            raise ValueError("only one round is allowed")
        return {"delta": w - local.start}


class ShrinksLater(FedAvg):
    """Returns another shape in the second round, which torch stretches."""

    def aggregate(self, server, updates):
        after = super().aggregate(server, updates)
        if updates.index == 1:
            return {**after, "w": after["w"][:1]}
        return after


class NoNumberAtServer(FedAvg):
    """Makes NaN of a model in the second round."""

    def aggregate(self, server, updates):
        after = super().aggregate(server, updates)
        if updates.index == 1:
            return {**after, "w": after["w"] * torch.tensor(float("nan"))}
        return after


class SendsNoNumber(FedAvg):
    """Sends NaN in the third round."""

    def broadcast(self, server):
        return server["w"] / (server["age"] < 2)

    def server_state(self, w):
        return {"w": w, "age": 0 * w[:1]}

    def aggregate(self, server, updates):
        return {**super().aggregate(server, updates), "age": server["age"] + 1}


LATE = [
    ("serial", NoNumberLater, 2, "correct", "returned NaN or infinity in a gradient from finite numbers"),
    ("batched", NoNumberLater, 2, "correct", "returned NaN or infinity in a gradient from finite numbers"),
    ("serial", FailsLater, 1, "finish", "raised ValueError: only one round is allowed"),
    ("batched", FailsLater, 1, "finish", "raised ValueError: only one round is allowed"),
    ("serial", ShrinksLater, 1, "aggregate", 'returned "w" of shape [1], expected [4810]'),
    ("batched", NoNumberAtServer, 1, "aggregate", 'returned NaN or infinity in "w" from finite numbers'),
    ("serial", SendsNoNumber, 2, "broadcast", "returned NaN or infinity in a model from finite numbers"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("engine", "broken", "rounds", "hook", "text"), LATE)
def test_the_round_and_the_hook_are_named_and_finished_rounds_stay(engine, broken, rounds, hook, text, monkeypatch):
    from edgefl.learning.algorithms import rehearsal

    monkeypatch.setattr(rehearsal.Rehearsal, "play", lambda _: None)  # it would find some of them before the run
    result = edgefl.run(digits(broken(), engine=engine), device="cpu")
    assert result.status == "failed"
    assert len(result.rounds) == rounds
    error = result.error
    assert error.startswith(f"round {rounds + 1}: {shown_file(__file__)}:")
    assert f": algorithm: {broken.__name__}.{hook} {text}" in error


class Plain(FedAvg):
    """FedAvg from outside."""


@pytest.mark.oracle
def test_a_learning_rate_that_is_too_high_stays_the_cause():
    result = edgefl.run(digits(Plain(), lr=1e9, engine="serial"), device="cpu")
    assert result.status == "failed"
    assert "the likely cause is a learning rate that is too high" in result.error
