"""Passes the metrics of a strategy's `evaluate_fn` on to the emulation."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from flwr.serverapp.strategy import Strategy

from edgefl.flower.metrics import RoundMetrics


@contextmanager
def heard(metrics: RoundMetrics) -> Iterator[None]:
    """Note the metrics of every `evaluate_fn` with which a strategy is started in the block."""
    original = Strategy.start
    signature = inspect.signature(original)

    @wraps(original)
    def start(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options)
        evaluate = given.arguments.get("evaluate_fn")
        if evaluate is not None:

            def evaluate_and_note(*arguments: Any, **named: Any) -> Any:
                found = evaluate(*arguments, **named)
                if found is not None:
                    metrics.note_central(found)
                return found

            given.arguments["evaluate_fn"] = evaluate_and_note
        return original(*given.args, **given.kwargs)

    with patch.object(Strategy, "start", start):
        yield
