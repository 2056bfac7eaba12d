"""Runs in sessions: quadratics that can be followed by hand, and images for what distils."""

from radio_cases import STILL

import edgefl

RATE = 0.1
CURVES = [[1.0, -4.0, 0.0], [0.5, 3.0, 0.0], [2.0, 1.0, 0.0]]
SUMS = {  # what the server keeps, by what devices keep of which it is the mean over all
    "scaffold": {"c": "c"},
    "feddyn": {"h": "h"},
    "feddc": {"h": "h", "g": "g"},
    "fedssg": {"h": "h", "g": "g"},
    "fedvra": {"dual": "dual"},
    "mifa": {"G": "mean"},
}
KEYS = {name: {"kind": name} for name in SUMS} | {"mifa": {"kind": "mifa", "state": "client"}}


def scalar(sessions, curves=CURVES, **changes):
    """Devices that each minimise a x^2 + b x + c, one full step a round."""
    base = {
        "sessions": sessions,
        "data": {"dataset": "quadratic", "coefficients": curves, "partition": "one_each"},
        "model": {"kind": "quadratic", "init": {"kind": "value", "value": 1.0}},
        "training": {"local_steps": 1, "batch_size": "full", "lr": RATE, "engine": "serial"},
        "devices": {"count": len(curves)},
        "radio": {**STILL, "transfer": "fast"},
    }
    return edgefl.run({**base, **changes}, device="cpu")


def images(sessions, train=True, **changes):  # noqa: FBT002
    base = {
        "data": {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.2}},
        "model": "logistic",
        "training": {"local_epochs": 1, "batch_size": 30, "engine": "serial"},
        "devices": {"count": 8},
        "radio": {**STILL, "transfer": "fast"},
    }
    return edgefl.run({**base, **sessions, **changes}, train=train, device="cpu")


def distilled(weight, steps=2, count=2, rounds=2, loss="kd", **changes):
    """With a weight of None, without distillation."""
    training = {"local_steps": steps, "batch_size": 30, "engine": "serial", "lr": 0.05}
    strategy = "previous" if weight is None else {"kind": "continuous", "weight": weight, "loss": loss}
    sessions = {"count": count, "rounds": rounds, "initialisation": strategy}
    return images({"sessions": sessions}, **{"training": training, **changes})
