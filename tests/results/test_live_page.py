"""A live page in a real browser: new rounds appear, and the user's choices stay."""

import re
import shutil
import socket
import threading

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from edgefl.results.live.board import Board
from edgefl.results.live.page import PageMaker
from edgefl.results.live.server import PageServer

pytestmark = pytest.mark.browser
VERSION = "return Number(document.documentElement.dataset.version ?? 0)"
NOTICE = "return document.getElementById('live').textContent"
ASKED = "return performance.getEntriesByType('resource').length"
POINTS = "return document.querySelector('[data-figure=time-0]').data[0].x.length"


class Live:
    """A page that is open in the browser, and the folder that it is about."""

    def __init__(self, browser, result, name):
        self.browser = browser
        self._result = result
        self._name = name
        self._maker = None
        self.board = None

    def serve(self, rounds):
        self._folder = self._result(self._name, rounds=rounds)
        self._maker = PageMaker(self._folder, "a <b>run</b>")
        self.board = Board(self._maker.setting_up())
        listener = socket.create_server(("127.0.0.1", 0))
        self.server = PageServer(listener, "token", self.board)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}/token/"

    def post(self, rounds, *, ended=False):
        shutil.rmtree(self._folder)
        self._result(self._name, rounds=rounds)
        shown = self._maker.last(has_rounds=True) if ended else self._maker.now()
        self.board.post(shown)
        return shown.version

    def wait(self, script, wanted):
        WebDriverWait(self.browser, 60, 0.05).until(lambda browser: browser.execute_script(script) == wanted)

    def wait_for(self, version):
        self.wait(VERSION, version)

    def do(self, script):
        return self.browser.execute_script(script)


@pytest.fixture
def live(chromium, result):
    """A page about ten rounds that is open and built; the console must stay empty, with no other request."""
    chromium.get_log("browser")
    page = Live(chromium, result, "run")
    page.serve(10)
    page.post(10)
    chromium.get(page.address)
    page.wait("return document.documentElement.dataset.built", "true")
    page.do("window.mine = 1")
    yield page
    assert page.do("return window.mine") == 1  # the page was not reloaded
    names = page.do("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(re.fullmatch(re.escape(page.address) + r"state\?after=\d+", name) for name in names)
    page.server.shutdown()
    page.server.server_close()
    assert chromium.get_log("browser") == []
    chromium.get("about:blank")


def test_new_rounds_come_in(live, violations):
    """The page is accessible meanwhile and at the end."""
    assert live.do(POINTS) == 10
    live.wait_for(live.post(13))
    assert violations() == []
    assert live.do(POINTS) == 13
    assert "13" in live.do("return document.querySelector('.tiles').textContent")
    live.do("document.documentElement.dataset.theme = 'dark'")
    live.wait_for(live.post(15, ended=True))
    assert live.do(POINTS) == 15
    assert "The run has ended" in live.do(NOTICE)
    assert "report.html" in live.do(NOTICE)
    assert violations() == []


def test_choices_of_user_survive_new_content(live):
    live.do(
        "document.querySelector('.toggle [data-view=energy]').click();"
        "const folded = [...document.querySelectorAll('details')].find(part => !part.open);"
        "folded.open = true; folded.dataset.mine = 1;"
        "document.querySelector('.toggle [data-view=energy]').focus();"
    )
    title = live.do("return document.querySelector('[data-mine] summary').textContent")
    live.browser.execute_async_script(
        "Plotly.relayout(document.querySelector('[data-figure=time-0]'), {'xaxis.range[0]': 0, 'xaxis.range[1]': 9})"
        ".then(arguments[0])"
    )
    live.do("scrollTo(0, 600)")
    for rounds in (12, 14):  # also when it is restored the second time
        live.wait_for(live.post(rounds))
        assert live.do("return document.querySelector('[data-mine]')") is None  # this is new content
        pressed = "return [...document.querySelectorAll('.toggle [aria-pressed=true]')].map(e => e.dataset.view)"
        assert live.do(pressed) == ["energy"]
        assert live.do("return document.activeElement.dataset.view") == "energy"
        axis = live.do("return document.querySelector('[data-figure=accuracy]').layout.xaxis.title.text")
        assert "energy" in axis
        assert title in live.do(
            "return [...document.querySelectorAll('details[open] summary')].map(e => e.textContent)"
        )
        live.wait("return document.querySelector('[data-figure=time-0]').layout.xaxis.range", [0, 9])
        assert live.do("return scrollY") == 600


def test_content_waits_while_user_is_busy(live):
    live.wait_for(live.post(11))
    asked = live.do(ASKED)
    for busy, idle in (
        ("getSelection().selectAllChildren(document.querySelector('h1'))", "getSelection().removeAllRanges()"),
        ("document.querySelector('.tiles').dataset.busy = ''", "delete document.querySelector('.tiles').dataset.busy"),
        ("dispatchEvent(new PointerEvent('pointerdown'))", "dispatchEvent(new PointerEvent('pointerup'))"),
    ):
        before = live.do(VERSION)
        live.do(busy)
        version = live.post(12)
        asked += 1
        live.wait(f"{ASKED} >= {asked}", True)  # it has come
        assert live.do(VERSION) == before
        live.do(idle)
        live.wait_for(version)


def test_before_the_run_begins(chromium, result):
    chromium.get_log("browser")
    live = Live(chromium, result, "later")
    live.serve(3)
    chromium.get(live.address)
    assert live.do("return document.querySelector('h1').textContent") == "a <b>run</b>"
    assert "being set up" in live.do("return document.querySelector('.banner:not([hidden])').textContent")
    live.post(3)
    live.wait("return document.documentElement.dataset.built", "true")
    assert live.do(POINTS) == 3
    live.post(4)
    live.wait(POINTS, 4)
    assert chromium.get_log("browser") == []
    live.server.shutdown()
    live.server.server_close()
    chromium.get("about:blank")


def test_run_that_ended_before_its_first_round_says_so(chromium, result):
    live = Live(chromium, result, "never")
    live.serve(3)
    chromium.get(live.address)
    live.board.post(live._maker.last(has_rounds=False))
    live.wait(f"{NOTICE}.includes('The run has ended')", True)
    assert "before its first round" in live.do("return document.querySelector('main').textContent")
    live.server.shutdown()
    live.server.server_close()


HURRY = "const plain = setTimeout; window.setTimeout = (call, ms) => plain(call, ms / 20)"


@pytest.fixture
def hurried(chromium):
    """A browser whose pages retry twenty times as fast."""
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HURRY})
    yield chromium
    chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_page_says_that_the_server_is_gone(hurried, result, monkeypatch):
    chromium = hurried
    monkeypatch.setattr("edgefl.results.live.server.PATIENCE_S", 1.0)  # a request that waits is answered yet
    live = Live(chromium, result, "gone")
    live.serve(3)
    live.post(3)
    chromium.get(live.address)
    live.wait("return document.documentElement.dataset.built", "true")
    live.server.shutdown()
    live.server.server_close()
    chromium.set_network_conditions(offline=True, latency=0, throughput=1)
    try:
        live.wait(f"{NOTICE}.includes('cannot be reached')", True)
    finally:
        chromium.delete_network_conditions()
    chromium.get("about:blank")
    chromium.get_log("browser")
