"""Selections for wireless networks under policies, churn and failures: every run comes to its end."""

from __future__ import annotations

import pytest

import edgefl

SELECTIONS = {
    "proportional_fair": "proportional_fair",
    "age_of_update": {"kind": "age_of_update", "upload_s": 2.0, "channels": 8},
    "fedcs": {"kind": "fedcs", "deadline_s": 20.0, "limit": "none"},
    "lyapunov": {"kind": "lyapunov", "budget_j": 1e-3, "v": 1e-5},
    "bandit": {"kind": "bandit", "variant": "cs-ucb-q", "share": 0.05},
    "tifl": {"kind": "tifl", "tiers": 3},
    "data_diversity": {"kind": "data_diversity", "measure": "coverage"},
}
POLICIES = {
    "over_selection": {},
    "deadline": {"deadline_s": 5.0},
    "sequential": {},
    "asynchronous": {},
    "buffered": {"policy": {"kind": "buffered", "buffer": 2}},
    "hierarchical": {"policy": {"kind": "hierarchical", "cloud_every": 2}},
}
CHURN = {"kind": "poisson", "arrivals_per_s": 1.0, "stay_s": {"exponential": 5.0}}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_pair_runs_to_its_end(selection, policy):
    server = {"policy": policy, **POLICIES[policy], "selection": SELECTIONS[selection]}
    result = edgefl.run(
        {
            "seed": 2,
            "rounds": 5,
            "data": {"dataset": "digits"},
            "devices": {"count": 16},
            "churn": CHURN,
            "radio": {"faults": {"failure_probability": 0.1}},
            "server": {"participants": 4, "csi": "perfect", **server},
        },
        train=False,
    )
    assert result.status == "finished", result.error
    assert len(result.rounds) == 5
    assert (result.rounds["received"] > 0).any()
