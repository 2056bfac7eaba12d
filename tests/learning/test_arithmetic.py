"""Products on the CPU, by each library: right, the same alone as among others, and in one thread."""

from contextlib import ExitStack

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from edgefl.core import machine
from edgefl.core.machine import one_numpy_thread, processor_vendor
from edgefl.learning.learner.kernels import arithmetic
from edgefl.learning.learner.kernels.arithmetic import affine, mkl_is_fast, product
from edgefl.learning.learner.workers.processes import one_thread_each

SHAPES = [(1, 1, 1, 1), (3, 1, 7, 5), (3, 50, 784, 10), (2, 60, 33, 1)]


def drawn(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32))


def room(a, b):
    """Return by how much m float32 additions and products may be off, in any order (Higham, Accuracy, 3.5)."""
    m = a.shape[2]
    magnitudes = a.double().abs() @ b.double().abs()
    return (m + 2) * np.finfo(np.float32).eps * magnitudes


@pytest.fixture(params=["torch", "NumPy"])
def library(request, monkeypatch):
    """The library that multiplies; the processor chooses it otherwise."""
    monkeypatch.setattr(arithmetic, "mkl_is_fast", lambda: request.param == "torch")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("clients", "n", "m", "k"), SHAPES)
def test_products_are_those_in_double_precision(clients, n, m, k):
    a = drawn(clients, n, m)
    b = drawn(clients, k, m).transpose(1, 2)
    c = drawn(clients, 1, k)
    exact = a.double() @ b.double()
    assert ((product(a, b).double() - exact).abs() <= room(a, b)).all()
    assert torch.equal(affine(a, b, c), product(a, b) + c)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("clients", "n", "m", "k"), SHAPES)
def test_products_are_written_into_rows_of_a_longer_vector(clients, n, m, k):
    x = drawn(clients, n, m)
    dy = drawn(clients, n, k)
    flat = torch.zeros(clients, m * k + 3)
    view = flat[:, : m * k].view(clients, k, m)
    assert product(dy.transpose(1, 2), x, out=view) is view
    exact = dy.double().transpose(1, 2) @ x.double()
    assert ((view.double() - exact).abs() <= room(dy.transpose(1, 2), x)).all()
    assert (flat[:, m * k :] == 0).all()


@pytest.mark.usefixtures("library")
@one_thread_each()  # as all training: several would divide a single product among them, and its sums
@pytest.mark.oracle
def test_a_client_has_the_same_bits_alone_as_among_others():
    a = drawn(32, 50, 784)
    b = drawn(32, 784, 200)
    together = product(a, b)
    alone = torch.cat([product(a[i : i + 1], b[i : i + 1]) for i in range(32)])
    assert torch.equal(together, alone)


@pytest.mark.parametrize(
    ("vendor", "mkl", "fast"),
    [("GenuineIntel", True, True), ("GenuineIntel", False, False), ("AuthenticAMD", True, False)],
)
def test_torch_multiplies_where_mkl_meets_a_processor_of_intel(vendor, mkl, fast, tmp_path, monkeypatch):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: One\n\nprocessor\t: 1\n")
    monkeypatch.setattr(machine, "CPUINFO", cpuinfo)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    assert mkl_is_fast.__wrapped__() is fast  # without the answer of before


def test_an_unknown_processor_has_no_vendor(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "none")
    assert processor_vendor() == ""


def test_numpy_computes_in_one_thread_inside_the_context_only():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    first = ExitStack()
    second = ExitStack()
    first.enter_context(one_numpy_thread())
    assert set(threads()) == {1}
    second.enter_context(one_numpy_thread())
    first.close()
    assert set(threads()) == {1}  # runs may overlap in any way
    second.close()
    assert threads() == before
