"""`edgefl run --live` as a user meets it: a page in a real browser while a run goes."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import pytest
import yaml
from fault_library import results
from plugin_cases import written
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 120
PAUSE_S = 0.1
# Rounds last as long as the test wants: each waits until a file says that it may end. Rows are written often.
GATE = """
import time
from pathlib import Path

from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.results import progress

progress.EVERY_S = 0.2


class Gated(UniformSelection):
    gate: str

    def choose(self, present, participants, index, streams, view):
        gate = Path(self.gate)
        while int(gate.read_text() or 0) <= index:
            time.sleep(0.02)
        return super().choose(present, participants, index, streams, view)
"""
GATED = {
    "name": "watched",
    "rounds": 40,
    "devices": {"count": 12},
    "server": {"participants": 4, "selection": {"kind": "gate:Gated"}},
}
PLAIN = "rounds: 3\ndevices: {count: 12}\nserver: {participants: 4}\n"
BANNER = "return document.querySelector('main .banner')?.textContent ?? ''"
NOTICE = "return document.getElementById('live').textContent"


class Gate:
    """Lets rounds end."""

    def __init__(self, path):
        self.path = path
        self.rounds = 0
        self.open(0)

    def let_pass(self, rounds):
        """One after the other, slowly enough for rows to be written meanwhile; the last ones are written later."""
        for number in range(self.rounds + 1, rounds + 1):
            self.open(number)
            time.sleep(PAUSE_S)
        return rounds // 3  # a busy machine takes long to write them

    def open(self, rounds):
        self.rounds = rounds
        part = self.path.with_suffix(".part")
        part.write_text(str(rounds))
        part.replace(self.path)


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path / "gate")


@pytest.fixture
def live(edgefl, gate):
    """Starts a run whose rounds end as the gate allows; gives its process and its address."""
    started = []

    def start(*more, scenario=GATED):
        scenario = {**scenario, "server": {**scenario["server"]}}
        scenario["server"]["selection"] = {**scenario["server"]["selection"], "gate": str(gate.path)}
        written(edgefl.folder, scenario, gate=GATE)
        process = edgefl.start(
            *("run", "own.yaml", "-o", "out", "--device", "cpu", "--live", *more),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        line = process.stderr.readline()
        return process, re.fullmatch(r"edgefl: live page: (http://127\.0\.0\.1:\d+/[\w-]{32}/)\n", line)[1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ask(address, path, **headers):
    """The status of an answer."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def follow(address):
    """Ask for what is new until the run has ended, as an open page does: a run's end waits for its pages."""

    def ask_again():
        state = {"version": 0, "ended": False}
        path = urlsplit(address).path
        while not state["ended"]:
            try:
                status, answer = ask(address, f"{path}state?after={state['version']}")
            except (OSError, HTTPException):
                return  # the server is gone
            if status == HTTPStatus.OK:
                state = json.loads(answer)

    threading.Thread(target=ask_again, daemon=True).start()


def wait(browser, condition):
    WebDriverWait(browser, PATIENCE_S, 0.1).until(condition)


def rounds_shown(browser):
    found = re.search(r"still running: (\d+) of 40 rounds", browser.execute_script(BANNER))
    return int(found[1]) if found else -1


def wait_for_rounds(browser, least):
    wait(browser, lambda browser: rounds_shown(browser) >= least)


def check_quiet(browser, address):
    """No message in the console, and no request to anywhere but the address itself."""
    assert browser.get_log("browser") == []
    names = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(re.fullmatch(re.escape(address) + r"state\?after=\d+", name) for name in names)


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_rows_come_while_the_run_goes(live, gate, chromium, edgefl):
    chromium.get_log("browser")
    process, address = live()
    chromium.get(address)
    wait(chromium, lambda browser: "being set up" in browser.execute_script(BANNER) or rounds_shown(browser) == 0)
    wait_for_rounds(chromium, 0)
    gate.open(2)
    wait_for_rounds(chromium, 1)
    loaded = chromium.execute_script("window.mine = 1; return performance.timeOrigin")

    wait_for_rounds(chromium, gate.let_pass(9))
    assert chromium.execute_script("return [window.mine, performance.timeOrigin]") == [1, loaded]  # not loaded again
    script = "return document.querySelector('[data-figure=time-0]').data[0].x.length"
    assert chromium.execute_script(script) == rounds_shown(chromium)

    # At the end the page has it all, and keeps it.
    check_quiet(chromium, address)
    gate.open(1000)
    output, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, error
    assert "40" in output.splitlines()[0]
    wait(chromium, lambda browser: "The run has ended" in browser.execute_script(NOTICE))
    assert chromium.execute_script(BANNER) == ""
    assert "40" in chromium.execute_script("return document.querySelector('.tiles').textContent")
    assert str(edgefl.folder / "out" / "report.html") in chromium.execute_script(NOTICE)
    check_quiet(chromium, address)
    with pytest.raises(ConnectionRefusedError):
        ask(address, "/")


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_killed_run(live, gate, chromium, edgefl):
    """The page says so and stays; nothing is left running; resumed, the run has the bytes of one that went through."""
    chromium.get_log("browser")
    process, address = live("--no-train")
    chromium.get(address)
    wait_for_rounds(chromium, 0)
    wait_for_rounds(chromium, gate.let_pass(6))
    process.kill()
    process.wait()
    wait(chromium, lambda browser: "was killed" in browser.execute_script(BANNER))
    wait(chromium, lambda browser: "The run has ended" in browser.execute_script(NOTICE))
    check_quiet(chromium, address)
    while True:
        try:
            ask(address, "/")
        except (OSError, HTTPException):  # refused, or the process has ended in the middle of an answer
            break
    gate.open(1000)
    again = edgefl("run", "own.yaml", "-o", "out", "--device", "cpu", "--no-train", "--resume", "--live", "--quiet")
    assert again.returncode == 0, again.stderr
    alone = edgefl("run", "own.yaml", "-o", "alone", "--device", "cpu", "--no-train", "--quiet")
    assert alone.returncode == 0, alone.stderr
    assert results(edgefl.folder / "out") == results(edgefl.folder / "alone")
    assert not (edgefl.folder / "out" / "checkpoints").exists()


def test_ctrl_c_ends_run_and_server(live, gate, edgefl):
    process, address = live("--no-train")
    progress = edgefl.folder / "out" / "checkpoints" / "progress"
    for number in range(1, 31):  # rows are written when a round ends, some time after those before
        gate.open(number)
        if progress.exists():
            break
        time.sleep(PAUSE_S)
    assert progress.exists()
    assert ask(address, urlsplit(address).path)[0] == 200
    follow(address)
    os.killpg(process.pid, signal.SIGINT)  # as terminals send it
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert json.loads((edgefl.folder / "out" / "manifest.json").read_text())["status"] == "interrupted"
    with pytest.raises(ConnectionRefusedError):
        ask(address, "/")


def test_page_needs_its_secret_path_and_this_host(live, gate, edgefl):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process, address = live(str(port), "--quiet", "--no-train")
    assert urlsplit(address).port == port
    path = urlsplit(address).path
    assert ask(address, path)[0] == 200
    assert ask(address, "/")[0] == 404
    assert ask(address, "/" + "x" * 32 + "/")[0] == 404
    assert ask(address, f"{path}../scenario.yaml")[0] == 404
    assert ask(address, path, Host="elsewhere.example")[0] == 403
    arguments = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert path.strip("/") not in arguments
    follow(address)
    gate.open(1000)
    output, error = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (0, "")
    assert not error  # the address was all


def test_the_same_results_with_and_without(edgefl):
    edgefl.write("s.yaml", PLAIN)
    for out, more in (("with", ["--live"]), ("without", [])):
        done = edgefl("run", "s.yaml", "-o", out, "--device", "cpu", *more)
        assert done.returncode == 0, done.stderr
    assert results(edgefl.folder / "with") == results(edgefl.folder / "without")
    names = [sorted(path.name for path in (edgefl.folder / out).iterdir()) for out in ("with", "without")]
    assert names[0] == names[1]
    page = (edgefl.folder / "with" / "report.html").read_text()
    assert "connect-src" not in page
    assert "live-facts" not in page


def test_a_port_in_use(edgefl):
    edgefl.write("s.yaml", PLAIN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (line,) = edgefl.refused("run", "s.yaml", "-o", "out", "--live", str(port))
    assert line == f"--live {port}: this port is in use; name another, or none for a free one"


def test_live_refuses_wrong_ports_and_dry_runs(edgefl):
    edgefl.write("s.yaml", PLAIN)
    for value, text in (
        ("65536", "must be a port from 0 to 65535"),
        ("-1", "-1"),
        ("http", "must be a port from 0 to 65535"),
    ):
        (line,) = edgefl.refused("run", "--live", value, "s.yaml")
        assert text in line
    (line,) = edgefl.refused("run", "--live", "s.yaml")
    assert "must be a port from 0 to 65535; the scenario comes before the options" in line
    (line,) = edgefl.refused("run", "s.yaml", "--live", "--dry-run")
    assert line.startswith("--live: a dry run has no page")
    edgefl.write("out/mine.txt", "")
    (line,) = edgefl.refused("run", "s.yaml", "-o", "out", "--live")
    assert "is not empty" in line


def test_a_finished_run_and_one_that_cannot_begin(edgefl):
    """Neither waits for a reader of the page."""
    edgefl.write("s.yaml", PLAIN)
    command = ("run", "s.yaml", "-o", "out", "--no-train", "--live", "--resume")
    assert edgefl(*command).returncode == 0
    done = edgefl(*command)
    assert (done.returncode, "finished before" in done.stdout) == (0, True)
    edgefl.write("bad.yaml", yaml.safe_dump({"data": {"dataset": "file", "path": "missing.npz"}}))
    done = edgefl("run", "bad.yaml", "-o", "bad", "--live")
    assert done.returncode == 2, done.stderr
    assert not (edgefl.folder / "bad").exists()
