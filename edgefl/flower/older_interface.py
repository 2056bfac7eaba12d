"""Flower's older interface (`ServerApp(server_fn=...)`, `NumPyClient`) without its threads.

Its server asks each client in a separate thread, and updates its list of nodes in another. Here the messages to all
clients of a round are sent together, and the list is updated when it is asked for, and while the server waits for
nodes.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from flwr.app import Message
from flwr.common import Code
from flwr.server import SimpleClientManager
from flwr.server import server as older_server
from flwr.server.compat import app as older_app
from flwr.server.compat import app_utils
from flwr.server.workflow import default_workflows
from flwr.serverapp import Grid

from edgefl.flower.grid import VirtualGrid

LOOK_EVERY_S = 5.0  # as often Flower's thread updates the list of nodes
Asked = Sequence[tuple[Any, Any]]  # clients' proxies, and what each is asked
One = Callable[[Any, Any, Any, Any], tuple[Any, Any]]  # asks one client


class _AskedNow(Exception):  # noqa: N818 - not an error
    """A client's proxy has made its message."""


class _Noting:
    """A stand-in for the grid while a proxy makes its message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send_and_receive(self, messages: Iterable[Message], **_: Any) -> list[Message]:
        """Note the messages, and leave the proxy."""
        self.messages += messages
        raise _AskedNow


class _Answering:
    """A stand-in for the grid while a proxy reads the answer to its message."""

    def __init__(self, answer: Message) -> None:
        self._answer = answer

    def send_and_receive(self, messages: Iterable[Message], **_: Any) -> list[Message]:
        """Return the answer."""
        return [self._answer]


@contextmanager
def without_threads(grid: VirtualGrid) -> Iterator[None]:
    """Let a server of the older interface use the grid from this thread only."""
    with ExitStack() as stack:
        for holder, name, replacement in (
            (older_app, "start_update_client_manager_thread", _update_when_asked),
            (default_workflows, "start_update_client_manager_thread", _update_when_asked),
            (SimpleClientManager, "wait_for", _waiting_in_virtual_time(grid)),
            (older_server, "fit_clients", _all_at_once(grid, older_server.fit_client)),
            (older_server, "evaluate_clients", _all_at_once(grid, older_server.evaluate_client)),
        ):
            stack.enter_context(patch.object(holder, name, replacement))
        yield


def _update_when_asked(grid: Grid, client_manager: Any) -> tuple[threading.Thread, threading.Event, threading.Event]:
    """Let a client manager update its list of nodes when it is asked for clients, without a thread of its own."""
    over = threading.Event()
    over.set()
    done = threading.Event()
    app_utils._update_client_manager(grid, client_manager, over, done)  # noqa: SLF001 - Flower has no other way
    thread = threading.Thread(target=done.wait)  # Flower joins it
    thread.start()
    return thread, over, done


def _waiting_in_virtual_time(grid: VirtualGrid) -> Callable[..., bool]:
    """Return a client manager's method that waits for nodes in virtual time; Flower's waits for another thread."""

    # The names of the arguments are Flower's.
    def wait_for(self: SimpleClientManager, num_clients: int, timeout: float = 86400) -> bool:
        give_up_s = grid.now_s() + timeout
        while self.num_available() < num_clients:
            if grid.now_s() >= give_up_s:
                return False
            grid.sleep(LOOK_EVERY_S)
        return True

    return wait_for


def _all_at_once(grid: Grid, one: One) -> Callable[..., tuple[list[Any], list[Any]]]:
    """Return a function that asks all clients of a round together, with results in the order of the clients."""

    def ask(
        client_instructions: Asked, max_workers: int | None, timeout: float | None, group_id: int
    ) -> tuple[list[Any], list[Any]]:
        noting = _Noting()
        for proxy, instructions in client_instructions:
            proxy.grid = noting
            try:
                one(proxy, instructions, timeout, group_id)
            except _AskedNow:
                proxy.grid = grid
        answers = grid.send_and_receive(noting.messages)
        answer_to = {answer.metadata.reply_to_message_id: answer for answer in answers}
        results: list[Any] = []
        failures: list[Any] = []
        for (proxy, instructions), message in zip(client_instructions, noting.messages, strict=True):
            proxy.grid = _Answering(answer_to[message.metadata.message_id])
            try:
                result = one(proxy, instructions, timeout, group_id)
            except ValueError as error:  # from the proxy, for an answer that is an error
                failures.append(error)
            else:
                if result[1].status.code == Code.OK:
                    results.append(result)
                else:
                    failures.append(result)
            finally:
                proxy.grid = grid
        return results, failures

    return ask
