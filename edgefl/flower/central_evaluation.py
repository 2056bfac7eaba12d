"""Notes the tests of the global model that a ServerApp makes through its strategy.

A strategy gets an `evaluate_fn` in its `start`, and writes what it returns to a `Result`. One of a workflow, such as
that of secure aggregation, has a method `evaluate`, whose values the workflow writes to a `History`. An app may replace
any of these parts: a `start` of its own, with the loop copied, calls `evaluate_fn` but need not fill a `Result`, and
one with another kind of test fills a `Result` but has no `evaluate_fn`. So both are listened to.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from flwr.server import History
from flwr.serverapp.strategy import Result, Strategy

from edgefl.flower.metrics import RoundMetrics

EVALUATE_FN = "evaluate_fn"  # the name of Flower's argument
Note = Callable[[Any, Any], None]  # notes what a test after a round, by the app's own number, has found


class _Recorded(dict[int, Any]):
    """A result's metrics by round; each is noted when it is entered."""

    def __init__(self, entered: Mapping[int, Any], note: Note) -> None:
        super().__init__(entered)
        self._note = note

    def __setitem__(self, server_round: int, found: Any) -> None:
        super().__setitem__(server_round, found)
        self._note(server_round, found)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # an app may save its result


@contextmanager
def heard(metrics: RoundMetrics) -> Iterator[None]:
    """Note all central tests of strategies in the block."""

    def note(server_round: Any, found: Any) -> None:
        named = _by_name(found)
        if named is not None:
            metrics.note_central(named, initial=isinstance(server_round, int) and server_round == 0)

    with ExitStack() as stack:

        def listen_to(strategy: type[Strategy]) -> None:
            if "start" in vars(strategy):
                stack.enter_context(patch.object(strategy, "start", _noting_start(strategy.start, note)))

        def listen_to_later_one(cls: type[Strategy], /, **options: Any) -> None:
            super(Strategy, cls).__init_subclass__(**options)
            listen_to(cls)

        for strategy in _with_subclasses(Strategy):
            listen_to(strategy)
        # An app may define or import its strategy only when it runs.
        stack.enter_context(patch.object(Strategy, "__init_subclass__", classmethod(listen_to_later_one)))
        stack.enter_context(patch.object(Result, "__init__", _noting_result(note)))
        for name, replacement in _noting_history(note).items():
            stack.enter_context(patch.object(History, name, replacement))
        yield


def _by_name(found: Any) -> Mapping[str, Any] | None:
    if isinstance(found, Mapping):
        return found
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Mapping):  # as in a workflow
        return {"loss": found[0], **found[1]}
    return None


def _with_subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    yield cls
    for subclass in cls.__subclasses__():
        yield from _with_subclasses(subclass)


def _noting_start(start: Callable[..., Any], note: Note) -> Callable[..., Any]:
    """Return a strategy's `start` that notes what its `evaluate_fn` returns."""
    names = list(inspect.signature(start).parameters)

    @wraps(start)
    def noting(*args: Any, **options: Any) -> Any:
        arguments = list(args)
        if options.get(EVALUATE_FN) is not None:
            options[EVALUATE_FN] = _noting_test(options[EVALUATE_FN], note)
        elif EVALUATE_FN in names[: len(arguments)]:
            place = names.index(EVALUATE_FN)
            if arguments[place] is not None:
                arguments[place] = _noting_test(arguments[place], note)
        return start(*arguments, **options)

    return noting


def _noting_test(evaluate: Callable[..., Any], note: Note) -> Callable[..., Any]:
    @wraps(evaluate, updated=())
    def noting(*args: Any, **options: Any) -> Any:
        found = evaluate(*args, **options)
        server_round = options.get("server_round")
        if args:
            server_round = args[0]
        note(server_round, found)
        return found

    return noting


def _noting_result(note: Note) -> Callable[..., None]:
    begin = Result.__init__

    @wraps(begin)
    def noting(self: Result, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.evaluate_metrics_serverapp = _Recorded(self.evaluate_metrics_serverapp, note)

    return noting


def _noting_history(note: Note) -> dict[str, Callable[..., None]]:
    add_loss = History.add_loss_centralized
    add_metrics = History.add_metrics_centralized

    # The names of the arguments are Flower's.
    def note_loss(self: History, server_round: int, loss: float) -> None:
        note(server_round, {"loss": loss})
        add_loss(self, server_round, loss)

    def note_metrics(self: History, server_round: int, metrics: dict[str, Any]) -> None:
        note(server_round, metrics)
        add_metrics(self, server_round, metrics)

    return {"add_loss_centralized": note_loss, "add_metrics_centralized": note_metrics}
