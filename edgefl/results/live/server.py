"""The server of a live page: it answers GET and HEAD for two paths below a secret token, and nothing else.

It listens at the loopback address alone. Other users of the machine can connect to it, and so can any page that is open
in the user's browser; neither knows the token, and `HEADERS` keep answers from other pages. A page from elsewhere
whose name is made to resolve to this machine (DNS rebinding) sends that name as `Host`, and is refused.
"""

import secrets
import socket
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from edgefl.results.live.board import Board

LOOPBACK = "127.0.0.1"
PATIENCE_S = 20.0  # how long a request waits for newer content; the browser then asks again
REQUEST_S = 10.0  # how long a request may take to arrive
MOST_CONNECTIONS = 64  # at a time; each open page has one
HTML = "text/html; charset=utf-8"
JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
# The page has a policy in its head, which lets it connect to this server only.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the token must not leak in the header of another request
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class PageServer(ThreadingHTTPServer):
    """Serves a board at a socket that listens already."""

    daemon_threads = True  # a browser that reads slowly does not keep the process alive

    def __init__(self, listener: socket.socket, token: str, board: Board) -> None:
        super().__init__(listener.getsockname(), _Request, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        port = listener.getsockname()[1]
        self.hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        self.token = token
        self.board = board
        self._changing = Lock()
        self._at_work = 0  # connections
        self._arriving: dict[socket.socket, float] = {}  # since when requests arrive, oldest first

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread; if too many are busy, drop the connection whose request has been arriving longest.

        A browser sends its request immediately, so a slow stranger is dropped first.
        """
        with self._changing:
            if self._at_work >= MOST_CONNECTIONS and not self._drop_oldest():
                self.shutdown_request(request)  # all requests have arrived and are being answered
                return
            self._at_work += 1
            self._arriving[request] = monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request; see `process_request`."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.note_arrival(request)
            with self._changing:
                self._at_work -= 1

    def note_arrival(self, request: socket.socket) -> None:
        """Note that a request has arrived."""
        with self._changing:
            self._arriving.pop(request, None)

    def service_actions(self) -> None:
        """Drop requests that take too long to arrive, even if bytes keep coming; called twice a second."""
        with self._changing:
            while self._arriving and monotonic() - next(iter(self._arriving.values())) > REQUEST_S:
                self._drop_oldest()

    def _drop_oldest(self) -> bool:
        """Drop the connection whose request has been arriving longest; return False if there is none."""
        oldest = next(iter(self._arriving), None)
        if oldest is None:
            return False
        del self._arriving[oldest]
        with suppress(OSError):  # it is gone
            oldest.shutdown(socket.SHUT_RDWR)  # its thread reads an end, and closes it
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser disconnects: the terminal belongs to the run."""


class _Request(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    server_version = "edgefl"
    sys_version = ""
    timeout = REQUEST_S

    def do_GET(self) -> None:
        self._answer(waits=True)

    def do_HEAD(self) -> None:
        self._answer(waits=False)

    def _answer(self, *, waits: bool) -> None:
        self.server.note_arrival(self.connection)
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        path, _, query = self.path.partition("?")
        token, _, name = path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        if name not in {"", "state"} or path != f"/{token}/{name}":
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        with self.server.board.answering():
            if name == "state":
                self._answer_state(query, PATIENCE_S if waits else 0.0)
            else:
                self._send(HTTPStatus.OK, HTML, self.server.board.shown.page)

    def _answer_state(self, query: str, patience_s: float) -> None:
        """Answer with content newer than the browser's version, as soon as it is posted."""
        after = parse_qs(query).get("after", [""])[0]
        if not (after.isascii() and after.isdigit() and len(after) < 10):
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        newer = self.server.board.newer(int(after), patience_s)
        if newer is None:
            self._send(HTTPStatus.NO_CONTENT, TEXT, b"")
        else:
            self._send(HTTPStatus.OK, JSON, newer.state)

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, TEXT, f"{status.phrase}\n".encode())

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a malformed request or another method; this replaces a method of the standard library."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._refuse(status)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Connection", "close")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the standard library's name
        """Log nothing: the terminal belongs to the run, and the token must not appear in a log."""
