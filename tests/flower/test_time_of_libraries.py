"""A ServerApp's own code has virtual time; its libraries have the time of this machine."""

import json
import sys
import time

import pytest

from tests.cases.flower_cases import CLIENT, WORLD, emulated, write_app
from tests.flower.test_messages_in_virtual_time import noted

# As a tracker does it: start something beside the app, and look for its answer until a time limit.
BESIDE = {
    "a thread": """
import threading
import time

done = threading.Event()

def begin():
    threading.Timer(0.2, done.set).start()

def is_ready():
    return done.is_set()
""",
    "a program": """
import subprocess
import sys
import time

programs = []

def begin():
    programs.append(subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(0.2)"]))

def is_ready():
    return programs[0].poll() is not None
""",
}
WAITING = """
def wait(limit_s=30):
    begin()
    began_s = time.monotonic()
    while not is_ready():
        if time.monotonic() > began_s + limit_s or time.time() < 1e9:
            raise TimeoutError(f"not ready after {limit_s} s")
        time.sleep(0.02)
    return True
"""


def library(folder, beside):
    """Write the library `patient_library` to a folder, and return the folder."""
    folder.mkdir(parents=True)
    (folder / "patient_library.py").write_text(BESIDE[beside] + WAITING)
    return folder


@pytest.mark.parametrize(
    ("place", "beside"),
    [
        ("elsewhere", "a thread"),
        ("app/.venv/lib/python3/site-packages", "a thread"),
        pytest.param("elsewhere", "a program", marks=pytest.mark.process),
    ],
)
def test_a_library_waits_in_real_time_and_costs_no_virtual_time(tmp_path, monkeypatch, place, beside):
    monkeypatch.syspath_prepend(library(tmp_path / place, beside))
    monkeypatch.delitem(sys.modules, "patient_library", raising=False)
    main = """
import patient_library
note(patient_library.wait())
"""
    notes, result = noted(tmp_path / "app" if place.startswith("app/") else tmp_path, main)
    assert result.error is None
    assert notes == [[0.0, True]]


APP = """
    import json
    import pathlib
    import time
    from sleeping_app.helper import rest
    from time import perf_counter, sleep
    began_s = perf_counter()
    sleep(5)
    time.sleep(2.5)
    rest(1)
    ns = [time.time_ns(), time.monotonic_ns(), time.perf_counter_ns()]
    pathlib.Path("FILE").write_text(json.dumps([perf_counter() - began_s, time.time(), time.monotonic(), *ns]))
"""


def test_the_apps_own_sleep_costs_virtual_seconds_and_no_real_ones(tmp_path, monkeypatch):
    slept = []
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: slept.append(seconds) or sleep(0))
    file = tmp_path / "times.json"
    app = write_app(tmp_path / "app", "sleeping_app", APP.replace("FILE", str(file)))
    (app / "sleeping_app" / "helper.py").write_text("import time\n\ndef rest(seconds):\n    time.sleep(seconds)\n")
    assert emulated(app, WORLD).error is None
    epoch_s = 946_684_800
    seconds_ns = 8_500_000_000
    assert json.loads(file.read_text()) == [
        8.5,
        epoch_s + 8.5,
        8.5,
        epoch_s * 10**9 + seconds_ns,
        seconds_ns,
        seconds_ns,
    ]
    assert not [seconds for seconds in slept if seconds >= 1]


@pytest.mark.oracle
def test_clients_have_the_time_of_this_machine(tmp_path):
    client = CLIENT.replace('"num-examples": 4})', '"num-examples": 4, "ended": __import__("time").time()})')
    main = """
[reply] = grid.send_and_receive(ask(nodes[:1]))
note(time.time(), reply.content["metrics"]["ended"])
"""
    began = time.time()
    notes, _ = noted(tmp_path, main, client=client)
    [[_, server_s, client_s]] = notes
    assert server_s < 946_684_800 + 60
    assert began <= client_s <= time.time()
