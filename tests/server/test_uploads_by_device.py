"""Uploads may have a size for each device, such as that of a codec of its group."""

import numpy as np
import pytest

import edgefl
from edgefl.runs import world_parts

SCENARIO = {
    "rounds": 2,
    "devices": {"count": 4},
    "data": {"dataset": "digits"},
}
SHARES = np.array([1.0, 0.5, 0.25, 1.0])  # of the whole model, by device


@pytest.fixture
def shrunk(monkeypatch):
    """Uploads of the sizes in `SHARES`."""
    measure = world_parts.measure

    def measured(*given):
        payload = measure(*given)
        return world_parts.replace(payload, up_bits=payload.up_bits * SHARES)

    monkeypatch.setattr(world_parts, "measure", measured)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "keys",
    [
        {"radio.transfer": "fast"},
        {"radio.sharing": "processor"},
        {"server.policy": "asynchronous"},
        {"server.optimiser": "{kind: min_energy, deadline_s: 60}", "server.csi": "perfect"},
    ],
)
def test_each_device_sends_its_own_upload(tmp_path, shrunk, keys):
    overrides = [f"{key}={value}" for key, value in keys.items()]
    run = edgefl.run(SCENARIO, out=tmp_path / "out", train=False, overrides=overrides)
    received = run.devices[run.devices["status"] == "received"]
    np.testing.assert_array_equal(received["bytes_up"], received["bytes_up"].max() * SHARES[received["device"]])
    assert run.summary["bytes_up"] == run.devices["bytes_up"].sum()
