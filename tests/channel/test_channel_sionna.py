"""Path loss, penetration and line of sight agree with the recorded ones of Sionna."""

import numpy as np
import pytest
from channel_validation import sionna

from channel import rma, uma, umi

SIONNA_LIGHT_MPS = 299_792_458.0
MODULES = {"umi": umi, "uma": uma, "rma": rma}


def test_checks_of_the_table():
    found = sionna.checks()
    assert len(found) == 9
    assert [check.name for check in found if not check.ok] == []
    assert "# Sionna 2.2.0" in sionna.TABLE.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("scenario", MODULES)
def test_with_sionnas_speed_of_light_nothing_is_left(scenario, monkeypatch):
    """Outdoors and in, in line of sight or not, 0.7 to 70 GHz, both releases, both kinds of walls."""
    monkeypatch.setattr(MODULES[scenario], "SPEED_OF_LIGHT_MPS", SIONNA_LIGHT_MPS)
    link = sionna.links(scenario)
    np.testing.assert_allclose(sionna.path_loss_db(scenario, link), link["path_loss_db"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("scenario", MODULES)
def test_the_links_are_of_every_kind(scenario):
    """So that agreement means something: states, releases and walls occur together, on both sides of 6 GHz."""
    link = sionna.links(scenario)
    kinds = np.stack(
        [link["los"], link["indoor"], link["release"], link["high_loss"], link["carrier_hz"] < 6e9], axis=1
    )
    assert len(np.unique(kinds, axis=0)) == (16 if scenario == "rma" else 32)
    if scenario == "uma":
        assert set(link["environment_m"]) == {1.0, 12.0, 15.0, 18.0}
    # Release 19 is another table: read as Release 16, it does not agree.
    wrong = link | {"release": np.full_like(link["release"], 16.0)}
    away_db = np.abs(sionna.path_loss_db(scenario, wrong) - link["path_loss_db"])
    rows = (link["release"] == 19) & (link["high_loss"] == 1) & (link["indoor"] == 1) & (link["carrier_hz"] >= 6e9)
    if scenario != "rma":
        assert away_db[rows].min() > 0.2
    assert away_db[~rows].max() < sionna.TOLERANCE_DB
