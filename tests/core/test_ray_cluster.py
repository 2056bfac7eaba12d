"""Joining a Ray cluster opens ports, and a warning says so where they are open to all."""

import sys
from types import SimpleNamespace

import pytest

from edgefl.core.ray_cluster import connected

LINE = "this program listens at all addresses of this machine, without a token"


@pytest.mark.parametrize(
    ("address", "mode", "is_told"),
    [
        ("192.0.2.7", None, True),
        ("192.0.2.7", "disabled", True),
        ("192.0.2.7", "token", False),
        ("127.0.0.1", None, False),
    ],
)
def test_open_cluster_is_reported(monkeypatch, caplog, address, mode, is_told):
    util = SimpleNamespace(get_node_ip_address=lambda: address)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=lambda **_: None, util=util))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    connected("auto")
    assert (LINE in caplog.text) == is_told
