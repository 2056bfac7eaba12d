"""Fixtures and settings that all tests share."""

import os
import re
import shutil
import sys
from multiprocessing.context import SpawnProcess
from pathlib import Path

import hypothesis
import own_process
import pytest

from edgefl.core.machine import collect_rarely

ROOT = Path(__file__).parents[1]
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1400,1200"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

STARTERS = {"warm", "chromium"}  # fixtures that start a program
STARTS = {"subprocess.Popen", "os.posix_spawn", "os.system"}  # events of Python
# What such an event is about. Libraries start small tools that take milliseconds: git, uname, ldconfig, fc-list.
PROGRAM = re.compile(r"python[\d.]*|bash|sh|make")

# Tests start edgefl hundreds of times. Without compiled modules each start would compile all of edgefl again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Kernels for GPUs run in Triton's interpreter, which has to be said before anything imports Triton.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# As the command line does; what ten thousand tests leave behind is much to look through.
collect_rarely()


# Tests assert no times: a busy machine is not a fault, in an example or in drawing it.
hypothesis.settings.register_profile("edgefl", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("edgefl")


@pytest.fixture(scope="session")
def data_folder():
    """Real datasets: EDGEFL_DATA, or a skip with the reason."""
    folder = os.environ.get("EDGEFL_DATA")
    if not folder or not (Path(folder) / "mnist.npz").exists():
        pytest.skip("EDGEFL_DATA names no folder with mnist.npz")
    return Path(folder)


@pytest.fixture(scope="session", autouse=True)
def cache_of_their_own(tmp_path_factory):
    """Leave the user's cache alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session", autouse=True)
def training_without_workers():
    """Train in the process and the thread of the test, unless its mark says that it starts programs."""
    import torch

    from edgefl.learning.learner import learner
    from edgefl.learning.learner.workers import fork_trial

    # The first backward pass decides whether forked processes get gradients, which some tests ask for: before any test
    # has exported a model, they do.
    fork_trial._decide_now()
    usual = learner.cores
    processes = usual()
    threads = torch.get_num_threads()
    # Tests run side by side: threads of torch that wait for each other would take a third of the processor time.
    torch.set_num_threads(1)
    learner.cores = lambda: 0 if _ProgramsGuard.is_on else processes
    yield
    learner.cores = usual
    torch.set_num_threads(threads)


@pytest.fixture
def forked_sweeps():
    """Fork the test's process for those of sweeps, so that no Python starts."""
    from forked_pool import forked_pools

    with forked_pools():
        yield


@pytest.fixture
def open_page(chromium):
    """Opens a page of edgefl in the browser and waits until its scripts have built it."""
    from selenium.webdriver.support.ui import WebDriverWait

    def is_built(browser):
        return browser.execute_script("return document.documentElement.dataset.built === 'true'")

    def open_and_wait(path):
        chromium.get(path.as_uri())
        WebDriverWait(chromium, 20, 0.05).until(is_built)
        return chromium

    return open_and_wait


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser without a window."""
    from selenium import webdriver  # most tests need none, and it takes long to import

    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("needs Chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items):
    """Mark tests as `process` whose fixtures or other marks tell that they start a program."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if STARTERS.intersection(item.fixturenames) or marks & {"browser", "own_process"}:
            item.add_marker("process")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Fail a test of `make test` that starts a program, in itself or in a fixture."""
    _ProgramsGuard.is_on = not any(map(item.get_closest_marker, ("process", "slow", "gpu")))
    try:
        return (yield)
    finally:
        _ProgramsGuard.is_on = False


class _ProgramsGuard:
    """Sees each program that Python starts. Forked processes are none: training starts them within milliseconds."""

    is_on = False
    _start_python = SpawnProcess._Popen

    @classmethod
    def check(cls, event, arguments):
        """Fail the test that runs, if it may start no program and this event of Python says that it does."""
        if not cls.is_on or event not in STARTS:
            return
        program = os.fsdecode(arguments[0])
        if event == "os.system" or PROGRAM.fullmatch(Path(program).name):
            pytest.fail(f"starts {program}: mark the test with `process`")

    @staticmethod
    def spawn(process):
        """Do as `SpawnProcess._Popen`, which tells Python of no event."""
        _ProgramsGuard.check("os.posix_spawn", [sys.executable])
        return _ProgramsGuard._start_python(process)


sys.addaudithook(_ProgramsGuard.check)
SpawnProcess._Popen = staticmethod(_ProgramsGuard.spawn)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is marked `own_process` in a second process."""
    if pyfuncitem.get_closest_marker("own_process") is None:
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    own_process.run(pyfuncitem.obj, wanted)
    return True
