"""Answers and refusals of a live page's server."""

import json
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from edgefl.results.live import server as live_server
from edgefl.results.live.board import Board, Shown
from edgefl.results.live.server import PageServer

TOKEN = "secret-token"  # noqa: S105 - of this test
PAGE = Shown(1, b"<p>the page</p>", b'{"version": 1}')
NEWER = Shown(2, b"<p>newer</p>", b'{"version": 2}')


@pytest.fixture
def served():
    """A server, its board and its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    board = Board(PAGE)
    server = PageServer(listener, TOKEN, board)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server, board, listener.getsockname()[1]
    server.shutdown()
    server.server_close()


@pytest.fixture
def ask(served):
    """Sends a request unchanged; a library would normalise its path."""
    port = served[2]

    def asked(path, method="GET", host=None):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        if host is not False:
            connection.putheader("Host", host or f"127.0.0.1:{port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())

    return asked


def test_server_answers_page_and_state(ask):
    status, content, headers = ask(f"/{TOKEN}/")
    assert (status, content) == (200, PAGE.page)
    assert headers["Content-Type"].startswith("text/html")
    status, content, headers = ask(f"/{TOKEN}/state?after=0")
    assert (status, content) == (200, PAGE.state)
    assert headers["Content-Type"].startswith("application/json")


def test_answers_forbid_other_origins(ask):
    for path in (f"/{TOKEN}/", f"/{TOKEN}/state?after=0", "/"):
        _, _, headers = ask(path)
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"
        assert not {"Access-Control-Allow-Origin", "Set-Cookie"} & headers.keys()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//",
        "*",
        "/state?after=0",
        "/secret-toke/",
        "/secret-token2/",
        "/SECRET-TOKEN/",
        f"/{TOKEN}",
        f"/./{TOKEN}/",
        f"/{TOKEN}//",
        f"/{TOKEN}/report.html",
        f"/{TOKEN}/scenario.yaml",
        f"/{TOKEN}/../../etc/passwd",
        f"/{TOKEN}/%2e%2e/%2e%2e/etc/passwd",
        f"/{TOKEN}/state/../../scenario.yaml?after=0",
        f"/{TOKEN}/./state?after=0",
        f"/{TOKEN}/state",
        f"/{TOKEN}/state?after=",
        f"/{TOKEN}/state?after=-1",
        f"/{TOKEN}/state?after=1e3",
        f"/{TOKEN}/state?after={'9' * 5000}",
        "/favicon.ico",
        "/%E4/",
        f"http://elsewhere.example/{TOKEN}/",
    ],
)
def test_nothing_else_is_served(ask, path):
    status, content, _ = ask(path)
    assert status == 404
    assert content == b"Not Found\n"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", False]
)
def test_request_with_foreign_host_is_refused(served, ask, host):
    """DNS rebinding: a page from elsewhere connects to this port under its own name."""
    if host:
        host = host.format(port=served[2])
    assert ask(f"/{TOKEN}/", host=host)[:2] == (403, b"Forbidden\n")
    assert ask(f"/{TOKEN}/state?after=0", host=host)[:2] == (403, b"Forbidden\n")


def test_the_user_may_say_localhost(served, ask):
    assert ask(f"/{TOKEN}/", host=f"localhost:{served[2]}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GARBAGE"])
def test_no_other_method(ask, method):
    status, content, headers = ask(f"/{TOKEN}/", method=method)
    assert status == 405
    assert b"page" not in content
    assert headers["Allow"] == "GET, HEAD"


def test_head(ask):
    status, content, headers = ask(f"/{TOKEN}/", method="HEAD")
    assert (status, content) == (200, b"")
    assert int(headers["Content-Length"]) == len(PAGE.page)
    assert ask(f"/{TOKEN}/state?after=1", method="HEAD")[0] == 204  # at once
    assert ask("/", method="HEAD")[0] == 404


def test_no_request_at_all(served):
    with socket.create_connection(("127.0.0.1", served[2])) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")  # as a browser begins HTTPS
        assert TOKEN.encode() not in connection.recv(10_000)


def test_request_waits_for_newer_version(served, ask):
    _, board, _ = served
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(ask(f"/{TOKEN}/state?after=1")))
    waiting.start()
    while not board.asked_within(0):
        time.sleep(0.001)
    assert not answers
    board.post(NEWER)
    waiting.join()
    assert json.loads(answers[0][1]) == {"version": 2}
    assert ask(f"/{TOKEN}/")[1] == NEWER.page


def test_wait_for_newer_version_times_out(ask, monkeypatch):
    monkeypatch.setattr(live_server, "PATIENCE_S", 0.01)
    status, content, _ = ask(f"/{TOKEN}/state?after=1")
    assert (status, content) == (204, b"")


def test_server_listens_at_loopback_only(served):
    with socket.create_connection(("127.0.0.1", served[2])):
        pass
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in [*addresses, "127.0.0.2"]:
        with pytest.raises(OSError, match=r"refused|unreachable|cannot"):
            socket.create_connection((address, served[2]), timeout=5).close()


def test_slow_requests_do_not_block_browser(served, ask):
    """More connections than are served at a time send single bytes; a whole request replaces one of them."""
    _, _, port = served
    begun = f"GET /{TOKEN}/ HTTP/1.1\r\n".encode()
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(live_server.MOST_CONNECTIONS + 6)]
    for sent in range(14):
        for connection in slow:
            with suppress(OSError):  # it has been dropped
                connection.sendall(begun[sent : sent + 1])
        assert ask(f"/{TOKEN}/")[0] == 200
    for connection in slow:
        connection.close()


@pytest.mark.oracle
def test_only_open_requests_count_toward_limit(served, ask):
    """Clients with the token fill all places: one more is closed immediately, and later there is room again."""
    _, board, port = served
    request = f"GET /{TOKEN}/state?after=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(live_server.MOST_CONNECTIONS)]
    for connection in waiting:
        connection.sendall(request)
    while board._open < live_server.MOST_CONNECTIONS:
        time.sleep(0.001)
    with pytest.raises(OSError, match=r"closed|reset|Remote end"):
        ask(f"/{TOKEN}/")
    board.post(NEWER)
    for connection in waiting:
        assert connection.recv(15) == b"HTTP/1.0 200 OK"
        connection.close()
    while board.asked_within(0):
        time.sleep(0.001)
    answered = False
    while not answered:
        with suppress(OSError):  # their threads have not ended yet
            answered = ask(f"/{TOKEN}/")[0] == 200


def test_a_request_that_never_arrives_is_dropped(served, monkeypatch):
    """It is dropped although a byte arrives before each read times out."""
    monkeypatch.setattr(live_server, "REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", served[2]), timeout=0.02) as connection:
        for _ in range(500):
            connection.sendall(b"G")
            with suppress(TimeoutError):
                assert connection.recv(1) == b""
                return
    pytest.fail("the request still arrives")


def test_board_knows_whether_page_is_viewed(served, ask):
    _, board, _ = served
    assert not board.asked_within(1e9)
    ask("/wrong/")
    assert not board.asked_within(1e9)  # strangers do not count
    ask(f"/{TOKEN}/")
    assert board.asked_within(1e9)
    while board.asked_within(0):  # until the thread that has answered notes that it is done
        time.sleep(0.001)


def test_the_board_knows_whether_a_page_has_the_last_state(served, ask):
    """A browser may draw earlier content for seconds: until its next request it lacks what was posted since."""
    _, board, _ = served
    ask(f"/{TOKEN}/state?after=0")
    assert board.is_fetched
    board.post(NEWER)
    assert not board.is_fetched
    ask(f"/{TOKEN}/state?after=1")
    assert board.is_fetched
