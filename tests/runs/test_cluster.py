"""Sweeps on a Ray cluster: the results of one machine, though a machine is lost on the way."""

import os
import signal
import socket
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from run_cases import SWEEP_BASE, content, rows

import edgefl
from edgefl.core.errors import InputError, Taken
from edgefl.runs import cluster
from edgefl.runs.cluster import Cluster
from edgefl.runs.workers import Died

ROUNDS = 200


# Who is refused


def refused(tmp_path, pattern, **options):
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(SWEEP_BASE))
    (tmp_path / "sweep.yaml").write_text("base: base.yaml")
    with pytest.raises(InputError, match=pattern) as error:
        edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "out", **options)
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_missing_ray_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(tmp_path, r"pip install 'edgefl-emulator\[ray\]'", cluster="auto")


def test_options_that_make_no_sense(tmp_path):
    refused(tmp_path, "gpus_per_run: needs cluster=", gpus_per_run=1)
    for number in (-1, 1.5, float("nan"), float("inf")):
        refused(tmp_path, "gpus_per_run=.* part of one GPU", cluster="auto", gpus_per_run=number, device="cuda")
    refused(tmp_path, "leave the number out", cluster="auto", device="cuda:1")


@pytest.mark.oracle
def test_address_without_an_answer_is_refused(tmp_path):
    pytest.importorskip("ray")
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))  # not listening
        refused(tmp_path, "nothing answers there", cluster=f"127.0.0.1:{silent.getsockname()[1]}")
    for address in ("somewhere", "127.0.0.1", "http://127.0.0.1:6379"):
        refused(tmp_path, "must be auto, or the host:port", cluster=address)


# What a lost machine leaves behind


def test_locked_task_is_tried_again(monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)

    def work(task):
        if len(waited) < 3:
            raise Taken("another process is running there")
        return task**2

    assert cluster._serve(work, 5, {}) == 25
    assert len(waited) == 3
    monkeypatch.setattr("edgefl.runs.workers.RELEASE_S", -1.0)
    waited.clear()
    assert isinstance(cluster._serve(work, 5, {}), Taken)


# On a cluster


@pytest.fixture(scope="module")
def head():
    """A cluster of several nodes on this machine; its head works nothing off."""
    ray = pytest.importorskip("ray")
    from ray import cloudpickle
    from ray.cluster_utils import Cluster as Nodes

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield nodes
    ray.shutdown()
    nodes.shutdown()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def nodes(head):
    """Adds nodes, which are gone after the test."""
    added = []

    def add(**has):
        added.append(head.add_node(**has))
        return added[-1]

    yield add
    for node in set(added) & head.worker_nodes:
        head.remove_node(node, allow_graceful=False)


def answers(pool, tasks):
    """Return the answers to tasks, and the greatest number that was under way."""
    left = list(enumerate(tasks))
    found = {}
    most = 0
    while left or pool.busy:
        while left and pool.room:
            pool.begin(*left.pop(0))
        most = max(most, len(pool._busy))
        found.update(pool.answers())
    return [found[number] for number in range(len(tasks))], most


def act(task):
    """Do the work that tests give to nodes."""
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "fail":
        raise InputError("one", "two")
    return os.environ.get(task)


@pytest.mark.process
def test_cluster_without_room_is_refused(head, tmp_path):
    refused(tmp_path, "takes 1 CPU, which the cluster does not have", cluster=head.address)


@pytest.mark.process
def test_answers_of_tasks(head, nodes, monkeypatch):
    monkeypatch.setattr(cluster, "RETRIES", 1)
    nodes(num_cpus=2, num_gpus=1)
    with closing(Cluster(act, head.address, gpus=0.5, settings={"HERE": "yes"})) as pool:
        found, most = answers(pool, ["HERE", "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "fail", "die"])
    assert most == 2
    assert found[:3] == ["yes", "0", "0"]
    assert found[3].faults == ("one", "two")
    assert isinstance(found[4], Died)
    assert "\n" not in str(found[4])
    with closing(Cluster(act, head.address, gpus=0.0, settings={})) as pool:
        assert answers(pool, ["CUDA_VISIBLE_DEVICES"] * 3) == (["", "", ""], 2)
    with closing(Cluster(act, head.address, settings={})) as pool:  # a GPU each
        assert answers(pool, ["HERE", "HERE"])[1] == 1
    with closing(Cluster(act, head.address, gpus=0.5, most=1, settings={})) as pool:
        assert answers(pool, ["HERE", "HERE"])[1] == 1


def begun(out, raylets):
    """A run that is under way and far from its end, and the node that works it off."""
    for journal in out.glob("*/*/checkpoints/journal.jsonl"):
        if 10 < journal.read_bytes().count(b"\n") < ROUNDS:
            for process in Path("/proc").glob("[0-9]*"):
                node = next((node for pid, node in raylets.items() if pid in ancestors(process)), None)
                if node and holds(process, journal):
                    return journal.parents[1], node
    return None


def holds(process, file):
    try:
        return any(one.resolve() == file for one in (process / "fd").iterdir())
    except OSError:
        return False


def ancestors(process):
    found = []
    while process.name != "0":
        try:
            status = (process / "status").read_text()
        except OSError:
            return found
        parent = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid"))
        found.append(int(parent))
        process = Path("/proc") / parent
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_tasks_of_a_lost_machine_begin_again(head, nodes, tmp_path):
    (tmp_path / "base.yaml").write_text(yaml.safe_dump({**SWEEP_BASE, "rounds": ROUNDS}))
    keys = {"base": "base.yaml", "grid": {"training.lr": [0.1, 0.2, 0.3], "radio.bandwidth_hz": [1e6, 2e6]}}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(keys))
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in (nodes(num_cpus=1), nodes(num_cpus=1))}
    out = tmp_path / "ray"
    lost = []
    before = {}

    def lose():
        while not lost:
            time.sleep(0.02)
            ended = (
                [row["folder"] for row in rows(out) if row["status"] == "finished"]
                if (out / "index.csv").exists()
                else []
            )
            if ended and (found := begun(out, raylets)):
                lost.append(found[0])
                head.remove_node(found[1], allow_graceful=False)
                before.update({file: file.stat().st_mtime_ns for one in ended for file in (out / one).glob("*.*")})

    thread = threading.Thread(target=lose)
    thread.start()
    index = edgefl.sweep(tmp_path / "sweep.yaml", out=out, device="cpu", cluster=head.address)
    thread.join()
    assert index["status"].tolist() == ["finished"] * 6
    assert len(set(index["folder"])) == 6
    assert before
    assert all(file.stat().st_mtime_ns == at for file, at in before.items())  # nothing twice
    edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "here", device="cpu")
    assert (out / "index.csv").read_bytes() == (tmp_path / "here" / "index.csv").read_bytes()
    for folder in index["folder"]:
        assert content(out / folder) == content(tmp_path / "here" / folder)
