"""The store of clients' states: three homes, one behaviour, that of a plain dict."""

import errno
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core import machine
from edgefl.core.errors import RunError
from edgefl.learning.learner import memory as memory_module
from edgefl.learning.learner.states import store as store_module
from edgefl.learning.learner.states.store import StateStore

HOMES = ["device", "host", "disk"]
CLIENTS = 6
INITIAL = {"c": torch.tensor([1.0, -2.0, 3.0]), "h": torch.zeros(2, dtype=torch.float64)}
CLIENT_BYTES = 3 * 4 + 2 * 8


@pytest.fixture(autouse=True)
def blocks_of_two(monkeypatch):
    """So that a few clients need several blocks, in every test."""
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 2 * 16)


@pytest.fixture
def store(tmp_path):
    """A function that opens stores, all closed at the end."""
    opened = []

    def build(home="auto", initial=INITIAL, clients=CLIENTS, **options):
        opened.append(StateStore(initial=initial, clients=clients, home=home, folder=tmp_path, **options))
        return opened[-1]

    yield build
    for one in opened:
        one.close()


def ids(*numbers):
    return np.array(numbers, dtype=np.int64)


def states(*values, initial=INITIAL):
    """A client's state filled with its value, stacked."""
    return {name: torch.stack([torch.full_like(vector, v) for v in values]) for name, vector in initial.items()}


def assert_same(left, right):
    assert list(left) == list(right)
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], rtol=0, atol=0)  # types, too


@pytest.mark.parametrize("home", HOMES)
def test_round_trip(store, home):
    one = store(home)
    assert one.home == home
    one.scatter(ids(4, 1), states(40, 10))
    one.scatter(ids(5, 4), states(50, 41))
    assert_same(one.gather(ids(1, 4, 5)), states(10, 41, 50))
    assert_same(one.gather(ids(5, 1, 1)), states(50, 10, 10))
    assert one.ids().tolist() == [1, 4, 5]


@pytest.mark.parametrize("home", HOMES)
def test_a_client_never_seen_has_the_initial_state(store, home):
    one = store(home)
    one.scatter(ids(2), states(7))
    expected = {name: torch.stack([torch.full_like(vector, 7), vector]) for name, vector in INITIAL.items()}
    assert_same(one.gather(ids(2, 3)), expected)
    assert {name: value.shape for name, value in one.gather(ids()).items()} == {"c": (0, 3), "h": (0, 2)}


@pytest.mark.parametrize("home", HOMES)
def test_forgotten_states_are_initial_again(store, home):
    one = store(home)
    one.scatter(ids(4, 1, 0), states(1, 2, 3))
    one.forget(["c"])
    assert_same(one.gather(ids(4, 1, 5)), {"c": INITIAL["c"].repeat(3, 1), "h": states(1, 2, 0)["h"]})
    taken = one.bytes
    one.forget(["h", "c"])
    assert one.ids().tolist() == []
    one.scatter(ids(2, 1), states(7, 8))
    assert_same(one.gather(ids(1, 2)), states(8, 7))
    assert_same(one.gather(ids(4)), {name: vector[None] for name, vector in INITIAL.items()})
    assert one.bytes == taken


@pytest.mark.parametrize("home", HOMES)
def test_the_mean_over_some_clients(store, home):
    """The mean is that of 2, 4 and the initial value of a client never seen."""
    of = store(home)
    of.scatter(ids(4, 1), states(2.0, 4.0))
    of.scatter(ids(0, 5), states(9.0, 8.0))
    assert torch.allclose(of.mean("c", ids(1, 3, 4)), (6.0 + INITIAL["c"]) / 3)
    assert torch.equal(of.mean("h", ids(2, 3)), INITIAL["h"])


@pytest.mark.parametrize("home", HOMES)
def test_values_are_copied_in_and_out(store, home):
    initial = {"c": torch.zeros(3)}
    one = store(home, initial)
    given_in = states(1, initial=initial)
    one.scatter(ids(0), given_in)
    given_in["c"].add_(1)
    initial["c"].add_(5)
    one.gather(ids(0, 1))["c"].add_(9)
    assert one.gather(ids(0, 1))["c"].tolist() == [[1] * 3, [0] * 3]


@pytest.mark.parametrize("home", HOMES)
def test_any_strides_and_gradients(store, home):
    """An engine may hand over slices of larger tensors that autograd still watches."""
    initial = {"c": torch.zeros(3)}
    one = store(home, initial)
    wide = torch.arange(12.0, requires_grad=True).view(3, 4)
    one.scatter(ids(3, 0, 2, 5), {"c": wide.t()})
    back = one.gather(ids(3, 0, 2, 5))["c"]
    assert torch.equal(back, wide.t())
    assert not back.requires_grad


@pytest.mark.parametrize("home", HOMES)
def test_only_participants_take_room(store, home):
    """Blocks hold two float32 rows of four; the population of 10^6 would need 16 MB."""
    one = store(home, {"c": torch.zeros(4)}, clients=1_000_000)
    assert one.bytes == 0
    one.gather(np.arange(1000))
    assert one.bytes == 0
    one.scatter(ids(999_999, 3), states(1, 2, initial={"c": torch.zeros(4)}))
    one.scatter(ids(3, 999_999), states(3, 4, initial={"c": torch.zeros(4)}))
    assert one.bytes == 2 * 16
    one.scatter(ids(17), states(5, initial={"c": torch.zeros(4)}))
    assert one.bytes == (3 if home == "disk" else 4) * 16


@pytest.mark.parametrize("home", ["device", "host"])
def test_the_last_block_ends_with_the_population(store, home):
    one = store(home, {"c": torch.zeros(4)}, clients=3)
    one.scatter(ids(0, 1, 2), {"c": torch.ones(3, 4)})
    assert one.bytes == 3 * 16


def test_growing_moves_no_row(store):
    one = store("host")
    one.scatter(ids(0), states(1))
    before = one._tables["c"]._views[0].data_ptr()
    one.scatter(ids(1, 2, 3, 4, 5), states(1, 2, 3, 4, 5))
    assert one._tables["c"]._views[0].data_ptr() == before


@pytest.mark.parametrize(("device_bytes", "host_bytes", "home"), [(0, 0, "device"), (-1, 0, "host"), (-1, -1, "disk")])
def test_auto_takes_the_first_home_for_the_whole_population(store, device_bytes, host_bytes, home):
    """Budgets relative to what all clients need: equal is enough."""
    need = CLIENTS * CLIENT_BYTES
    assert store(device_bytes=need + device_bytes, host_bytes=need + host_bytes).home == home


def test_default_budgets_are_half_of_what_is_free(store, monkeypatch):
    assert store().home == "device"
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (1000, 4000))
    assert memory_module.budget(torch.device("cuda:0")) == 500
    assert 2**20 < memory_module.budget(torch.device("cpu")) < 2**50
    monkeypatch.setattr(store_module, "budget", lambda _: CLIENTS * CLIENT_BYTES - 1)
    assert store().home == "disk"


def test_a_container_limits_the_host_budget(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("max\n")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8192))
    monkeypatch.setattr(machine, "CONTAINER_LIMIT", limit)
    assert memory_module.budget(torch.device("cpu")) == 4096
    limit.write_text("2000\n")
    assert memory_module.budget(torch.device("cpu")) == 1000


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("outside", [-1, CLIENTS])
def test_ids_outside_the_population(store, home, outside):
    one = store(home)
    with pytest.raises(IndexError, match=r"clients are 0 \.\. 5, got"):
        one.gather(ids(0, outside))
    with pytest.raises(IndexError, match=r"clients are 0 \.\. 5, got"):
        one.scatter(ids(0, outside), states(1, 2))


@pytest.mark.parametrize(
    ("who", "what"),
    [
        (ids(1, 1), states(1, 2)),
        (ids(1), states(1, 2)),
        (ids(1), {"c": torch.zeros(1, 3)}),
        (ids(1), {name: value.float() for name, value in states(1).items()}),
        (ids(1), {name: value[:, :1] for name, value in states(1).items()}),
    ],
    ids=["twice", "count", "names", "types", "sizes"],
)
def test_a_wrong_scatter_changes_nothing(store, who, what):
    one = store("host")
    with pytest.raises(ValueError, match=r"twice|states must be"):
        one.scatter(who, what)
    assert one.bytes == 0
    assert not len(one.ids())


@pytest.mark.parametrize("initial", [{}, {"c": torch.zeros(2, 2)}, {"c": torch.zeros(())}])
def test_wrong_initial_states(initial):
    with pytest.raises(ValueError, match="one-dimensional"):
        StateStore(initial=initial, clients=3)


steps = st.lists(
    st.tuples(
        st.booleans(), st.lists(st.tuples(st.integers(0, CLIENTS - 1), st.floats(width=32)), unique_by=lambda p: p[0])
    )
)


@pytest.mark.oracle
@settings(max_examples=40, deadline=None, derandomize=True)
@given(steps)
def test_all_homes_are_a_dict(sequence):
    """Any sequence of gathers and scatters, NaN and infinity included, bit by bit."""
    model = {}
    stores = [StateStore(initial=INITIAL, clients=CLIENTS, home=home) for home in HOMES]
    for writes, pairs in sequence:
        who = ids(*(client for client, _ in pairs))
        if writes and pairs:
            values = states(*(value for _, value in pairs))
            model |= {client: {name: v[i] for name, v in values.items()} for i, (client, _) in enumerate(pairs)}
            for one in stores:
                one.scatter(who, values)
        for one in stores:
            got = one.gather(who)
            for name, vector in INITIAL.items():
                expected = [model.get(client, INITIAL)[name] for client in who.tolist()]
                wanted = torch.stack(expected) if expected else vector.new_empty(0, len(vector))
                assert got[name].numpy().tobytes() == wanted.numpy().tobytes()
                assert got[name].dtype == vector.dtype
    for one in stores:
        assert one.ids().tolist() == sorted(model)
        one.close()


@pytest.mark.parametrize("home", HOMES)
def test_the_order_of_first_participation_does_not_matter(store, home):
    left = store(home)
    right = store(home)
    for client in (3, 0, 5):
        left.scatter(ids(client), states(client))
    right.scatter(ids(5, 0, 3), states(5, 0, 3))
    assert_same(left.gather(np.arange(CLIENTS)), right.gather(np.arange(CLIENTS)))
    assert left.ids().tolist() == right.ids().tolist() == [0, 3, 5]


def test_the_disk_keeps_no_file(store, tmp_path):
    """Not even while the store is open, so that no way to die can leave one."""
    one = store("disk")
    one.scatter(ids(0), states(1))
    assert list(tmp_path.iterdir()) == []
    one.close()
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_stops_before_anything_is_written(store, monkeypatch, tmp_path):
    one = store("disk", {"c": torch.zeros(1000)})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=7000))
    one.scatter(ids(0), {"c": torch.ones(1, 1000)})
    with pytest.raises(RunError) as caught:
        one.scatter(ids(0, 1, 2), {"c": torch.full((3, 1000), 2.0)})
    message = f"the states of the clients do not fit in {tmp_path}: 8e-06 GB more are needed, 7e-06 GB are free"
    assert str(caught.value) == message
    assert one.ids().tolist() == [0]
    assert one.gather(ids(0, 1))["c"].sum() == 1000
    one.scatter(ids(0), {"c": torch.zeros(1, 1000)})  # needs no more


def test_a_disk_that_fills_up(store, monkeypatch, tmp_path):
    one = store("disk")

    def full(_data):
        raise OSError(errno.ENOSPC, "No space left on device")

    file = one._tables["h"]._file
    monkeypatch.setattr(one._tables["h"], "_file", SimpleNamespace(seek=file.seek, write=full, close=file.close))
    with pytest.raises(RunError) as caught:
        one.scatter(ids(0), states(1))
    assert str(caught.value) == f"the states of the clients cannot be kept in {tmp_path}: No space left on device"
    assert not len(one.ids())


def test_short_reads_and_writes(store):
    """The system may move fewer bytes than asked for."""
    one = store("disk", {"c": torch.zeros(3)})
    file = one._tables["c"]._file

    class Slow:
        seek = file.seek
        close = file.close

        def write(self, data):
            return file.write(data[:5])

        def readinto(self, data):
            return file.readinto(data[:7])

    one._tables["c"]._file = Slow()
    one.scatter(ids(1, 0), {"c": torch.arange(6.0).view(2, 3)})
    assert one.gather(ids(0, 1))["c"].tolist() == [[3, 4, 5], [0, 1, 2]]
    file.truncate(2)
    with pytest.raises(RunError, match="the file ends early"):
        one.gather(ids(1))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(RunError, match=r"cannot be kept in .*gone: No such file"):
        StateStore(initial=INITIAL, clients=3, home="disk", folder=tmp_path / "gone")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("home", HOMES)
def test_gpu_is_cpu(store, home):
    initial = {name: vector.cuda() for name, vector in INITIAL.items()}
    cpu = store(home)
    gpu = store(home, initial)
    for who in (ids(4, 1), ids(5, 4, 0)):
        values = states(*(10 * who + 1))
        cpu.scatter(who, values)
        gpu.scatter(who, {name: value.cuda() for name, value in values.items()})
    got = gpu.gather(np.arange(CLIENTS))
    assert all(value.is_cuda for value in got.values())
    assert_same({name: value.cpu() for name, value in got.items()}, cpu.gather(np.arange(CLIENTS)))
    if home == "host":
        assert all(view.is_pinned() for rows in gpu._tables.values() for view in rows._views)


@pytest.mark.slow
def test_the_disk_home_stays_out_of_memory(store):
    """480 MB of states, 5 clients of 8 MB at a time; the process may grow by a few clients, not by the store."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("no /proc/self/statm: resident memory is read from there")
    initial = {"c": torch.zeros(2_000_000)}
    one = store("disk", initial, clients=60)
    resident = []
    for begin in [*range(0, 60, 5)] * 2:
        who = np.arange(begin, begin + 5)
        one.scatter(who, {"c": one.gather(who)["c"] + torch.tensor(who)[:, None]})
        resident.append(4096 * int(statm.read_text().split()[1]))
    assert one.bytes == 480_000_000
    assert max(resident) - resident[0] < 100e6
    assert torch.equal(one.gather(ids(7, 59))["c"][:, -1], torch.tensor([14.0, 118.0]))
