"""The command line as users meet it: a process of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm_edgefl
from warm_process import WarmProcess

COMMAND = [sys.executable, "-m", "edgefl"]
USUAL_PROCESSES = "2"


def installed_wheels(folders, tmp_path_factory):
    """Build a wheel of each folder of sources, and return the folder into which they were installed, offline."""
    wheels = tmp_path_factory.mktemp("wheels")
    target = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    for folder in folders:
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", str(target), *wheels.glob("*.whl")], check=True, capture_output=True)
    return target


def _listen():
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@dataclass(frozen=True)
class Shell:
    """Runs edgefl in an empty home and working directory.

    Commands that a test waits for run in children of a warm process. Those that it starts, or that have other settings
    of Python or another number of processes, import edgefl themselves.
    """

    folder: Path
    warm: WarmProcess
    # That train; None: as edgefl decides, which takes none for runs as small as those here.
    processes: str | None = USUAL_PROCESSES
    # Whether sweeps of the warm process fork their processes, which then know and have imported what the sweep has.
    forks_sweeps: bool = True

    @property
    def environment(self):
        kept = {name: value for name, value in os.environ.items() if name != "EDGEFL_DATA"}
        kept.pop("OMP_NUM_THREADS", None)
        if self.processes is not None:
            kept["OMP_NUM_THREADS"] = self.processes
        return {**kept, "HOME": str(self.folder), "PYTHONWARNINGS": "ignore"}

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            preexec_fn=_listen,  # noqa: PLW1509 - a shell's background jobs, and those of `nohup`, ignore them
            **options,
        )

    def __call__(self, *arguments, python_options=()):
        command = [sys.executable, *python_options, "-m", "edgefl", *map(str, arguments)]
        if not python_options and self._suits_the_warm_process():
            return self._in_child(command, arguments)
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def _suits_the_warm_process(self):
        def for_python(environment):
            read_late = {"PYTHONPATH"}  # a child adds its folders
            return {
                name: value
                for name, value in environment.items()
                if name.startswith("PYTHON") and name not in read_late
            }

        same = for_python(self.environment) == for_python(self.warm.environment)
        return same and self.processes == USUAL_PROCESSES

    def _in_child(self, command, arguments):
        task = {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(self.folder),
            "environment": self.environment,
            "forks_sweeps": self.forks_sweeps,
        }
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            err = Path(folder) / "err"
            code = self.warm(task, out, err)
            return subprocess.CompletedProcess(command, code, out.read_text(), err.read_text())

    def refused(self, *arguments):
        """The lines of a refusal: exit code 2, every line ours, no traceback, not one file made or changed."""
        before = self._files()
        done = self(*arguments)
        lines = done.stderr.splitlines()
        assert done.returncode == 2, done.stderr
        assert lines
        assert all(line.startswith("edgefl: ") for line in lines), done.stderr
        assert self._files() == before
        return [line.removeprefix("edgefl: ") for line in lines]

    def _files(self):
        """List files with their times, but for the modules that Python itself compiles in a user's package."""
        paths = [path for path in self.folder.rglob("*") if "__pycache__" not in path.parts]
        return {path: path.stat().st_mtime_ns if path.is_file() else None for path in paths}


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    process = WarmProcess([sys.executable, warm_edgefl.__file__], tmp_path_factory.mktemp("home"))
    yield process
    process.close()


@pytest.fixture
def edgefl(tmp_path, warm):
    return Shell(tmp_path, warm)


@pytest.fixture(scope="session")
def finished(tmp_path_factory, warm):
    """A shell with the finished result folder `out` of a small run."""
    shell = Shell(tmp_path_factory.mktemp("finished"), warm)
    shell.write(
        "small.yaml",
        "rounds: 3\ntargets: [0.2]\nserver: {participants: 4}\ndevices: {count: 20, cpu_hz: {uniform: [1e9, 2e9]}}\n"
        "data: {partition: {kind: dirichlet, alpha: 0.5}}\nmobility: random_waypoint\n",
    )
    done = shell("run", "small.yaml", "-o", "out", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    return shell
