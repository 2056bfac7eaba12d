"""One run that is trained on a Ray cluster: the bytes of one machine, though a machine is lost on the way."""

import json
import logging
import sys
import threading
from types import SimpleNamespace

import pytest
from run_cases import content

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.machine import processor
from edgefl.learning.learner.workers import cluster
from edgefl.learning.learner.workers.cluster import ClusterWorkers, facts
from edgefl.learning.record import Pace
from edgefl.runs import emulation

SCENARIO = {
    "name": "cluster",
    "rounds": 6,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "model": {"kind": "mlp"},
    "training": {"local_epochs": 2, "batch_size": 20, "lr": 0.1},
    "server": {"participants": 8},
    "devices": {"count": 20},
}


@pytest.fixture(scope="module")
def head():
    """A Ray cluster on this machine whose head trains nothing."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster as Nodes

    # A machine that is gone shall be noticed within a second or two, and not within ten.
    prompt = {"health_check_period_ms": 500, "health_check_timeout_ms": 500, "health_check_failure_threshold": 2}
    has = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100_000_000, "_system_config": prompt}
    nodes = Nodes(initialize_head=True, head_node_args=has)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def machines(head):
    """Adds machines of a processor each to the cluster, which are gone after the test."""
    added = []

    def add(count=1):
        added.extend(head.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(count))
        head.wait_for_nodes()
        return added

    yield add
    for machine in set(added) & head.worker_nodes:
        head.remove_node(machine, allow_graceful=False)


def local(folder, scenario):
    edgefl.run(scenario, out=folder, device="cpu")
    return content(folder)


def refused(tmp_path, pattern, **options):
    with pytest.raises(InputError, match=pattern) as error:
        edgefl.run(SCENARIO, out=tmp_path / "out", **options)
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.process
def test_a_cluster_without_a_processor(tmp_path, head):
    refused(tmp_path, "no processor is free", cluster=head.address)


# SCAFFOLD's devices keep states, and all that FedAvg does is a part of it.
@pytest.mark.process
@pytest.mark.parametrize("algorithm", [pytest.param("fedavg", marks=pytest.mark.slow), "scaffold"])
def test_a_machine_that_is_lost_in_the_middle_of_a_round_changes_no_byte(tmp_path, head, machines, caplog, algorithm):
    # Rounds of about a second, so that one is under way when the machine goes.
    longer = {**SCENARIO["training"], "local_epochs": 20}
    model = {"kind": "fcn", "hidden": [400, 400]}
    scenario = {**SCENARIO, "algorithm": {"kind": algorithm}, "model": model, "training": longer, "rounds": 4}
    lost = machines(2)[0]

    def progress(row):
        if row["round"] == 1:  # the next round begins while this thread pulls the plug
            threading.Thread(target=head.remove_node, args=(lost,), kwargs={"allow_graceful": False}).start()

    result = edgefl.run(scenario, out=tmp_path / "cluster", cluster=head.address, progress=progress)
    assert result.status == "finished"
    assert "begins again elsewhere" in caplog.text
    assert content(tmp_path / "cluster") == local(tmp_path / "local", scenario)


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_with_more_machines(tmp_path, head, machines):
    machines(1)

    def progress(row):
        if row["round"] == 3:
            raise KeyboardInterrupt

    stopped = edgefl.run(SCENARIO, out=tmp_path / "cluster", cluster=head.address, progress=progress)
    assert stopped.status == "interrupted"
    machines(1)
    result = edgefl.run(SCENARIO, out=tmp_path / "cluster", cluster=head.address, resume=True)
    assert result.status == "finished"
    assert content(tmp_path / "cluster") == local(tmp_path / "local", SCENARIO)


@pytest.mark.process
def test_a_record_is_of_the_processors_of_the_cluster(tmp_path, head, machines, monkeypatch, caplog):
    """Where all are alike, a run goes on with or without a cluster; on others it learns again."""
    machines(1)
    warning = "another device or type of processor: learning starts over"

    def progress(row):
        if row["round"] == 3:
            raise KeyboardInterrupt

    pace = Pace(rounds=1)
    for out in ("alike", "others"):
        edgefl.run(SCENARIO, out=tmp_path / out, cluster=head.address, progress=progress, pace=pace)
    manifest = json.loads((tmp_path / "alike" / "manifest.json").read_text())
    assert manifest["cluster_processors"] == [manifest["processor"]] == [processor()]
    edgefl.run(SCENARIO, out=tmp_path / "alike", device="cpu", resume=True)
    assert warning not in caplog.text
    monkeypatch.setattr(emulation, "told_by_machines", lambda *_: [{"model": "another"}])
    edgefl.run(SCENARIO, out=tmp_path / "others", cluster=head.address, resume=True)
    assert warning in caplog.text
    assert content(tmp_path / "alike") == content(tmp_path / "others")


@pytest.mark.oracle
def test_options_that_make_no_sense(tmp_path, monkeypatch):
    refused(tmp_path, "train=False trains nothing", cluster="auto", train=False)
    refused(tmp_path, "trains on its processors", cluster="auto", device="cuda")
    refused(tmp_path, "must be auto, or the host:port", cluster="somewhere")
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(tmp_path, r"pip install 'edgefl-emulator\[ray\]'", cluster="auto")


# Machines that would give other bytes


class Told:
    """A worker of a machine that says what it has."""

    def __init__(self, **found):
        self.found = {**facts(), **found}
        self.closed = False

    def begun(self, *_):
        return True

    def facts(self):
        return self.found

    def close(self):
        self.closed = True


@pytest.fixture
def told(monkeypatch):
    """Makes workers on machines that say what they have, and lets others join."""
    found = []

    def make(*workers):
        found.extend(workers)
        monkeypatch.setattr(cluster, "ClusterWorker", lambda *_: found.pop(0))
        monkeypatch.setattr(cluster, "LOOK_EVERY_S", 0.0)
        ray = SimpleNamespace(put=str, available_resources=lambda: {"CPU": len(found)})
        return ClusterWorkers("task", ray)

    return make, found


def test_machines_of_other_versions_or_another_processor_are_refused(told):
    make, _ = told
    with pytest.raises(InputError, match=r"a machine has torch 0\.1, this one .*: install the same version on all"):
        make(Told(), Told(torch="0.1"))
    with pytest.raises(InputError, match=r"\(left and right\)"):
        make(Told(processor="left AVX2"), Told(processor="right AVX2"))
    with pytest.raises(InputError, match=r"\(AVX512F and nothing more\)"):
        make(Told(processor="EPYC AVX2 AVX512F"), Told(processor="EPYC AVX2"))


@pytest.mark.oracle
def test_a_machine_that_joins_with_another_processor_is_not_used(told, caplog):
    make, joining = told
    workers = make(Told(), Told())
    assert len(workers) == 2
    other = Told(processor="other")
    joining += [Told(), other]
    with caplog.at_level(logging.WARNING):
        workers._look_for_machines()
    assert len(workers) == 3
    assert other.closed
    assert "it is not used" in caplog.text
    workers.close()
