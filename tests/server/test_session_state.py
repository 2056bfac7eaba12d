"""State that restarts with a session: server and devices agree in every round."""

import numpy as np
import pytest
import torch
from radio_cases import STILL
from session_cases import KEYS, SUMS, scalar

import edgefl
from edgefl.learning.algorithms.distilled import Distilled
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.feddisco import FedDisco
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.algorithms.properties import is_coupled
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.server.global_model import GlobalModel

CURVES = [[1.0, -4.0, 0.0], [0.5, 3.0, 0.0], [2.0, 1.0, 0.0], [1.5, -1.0, 0.0]]  # two groups of two
STRATEGIES = ["previous", "average", {"kind": "proposed", "gradient_rounds": 2}]


def three(algorithm, strategy="previous", **changes):
    """Sessions of two groups; each minimises with two steps in three rounds."""
    sessions = {"count": 3, "rounds": 3, "groups": 2, "initialisation": strategy}
    training = {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"}
    return scalar(sessions, CURVES, algorithm=algorithm, **{"training": training, **changes})


# Invariants


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", STRATEGIES, ids=["previous", "average", "proposed"])
@pytest.mark.parametrize("name", SUMS)
def test_server_has_the_mean_of_the_devices_state(name, strategy, seen):
    """The mean is that of the session's group, who all take part in every round."""
    three(KEYS[name], strategy)
    for place, group, server, devices, _ in seen:
        for own, mean in SUMS[name].items():
            assert torch.allclose(server[mean], devices[own][group].mean(dim=0), atol=1e-12), place
            assert devices[own][group].abs().max() > 1e-3


@pytest.mark.oracle
@pytest.mark.parametrize("home", ["device", "host", "disk"])
def test_server_mean_holds_in_every_home_of_state(home, seen):
    training = {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial", "state_home": home}
    three("scaffold", STRATEGIES[2], training=training, report={"models": ["all"]})
    for place, group, server, devices, _ in seen:
        assert torch.allclose(server["c"], devices["c"][group].mean(dim=0), atol=1e-12), place


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", STRATEGIES, ids=["previous", "average", "proposed"])
def test_counters_count_since_the_state_began(strategy, seen):
    """In extra rounds, and in those of the session that follow, each by itself."""
    three("fedssg", strategy)
    counts = np.zeros(4)
    since = None
    for place, heard, _, devices, _ in seen:
        began = (place.session, place.extra)
        counts = counts if began == since else np.zeros(4)
        since = began
        counts[heard] += 1
        assert devices["count"][:, 0].tolist() == counts.tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", STRATEGIES, ids=["previous", "average", "proposed"])
def test_mifas_updates_are_the_same_wherever_they_are_kept(strategy):
    at = {state: three({"kind": "mifa", "state": state}, strategy).rounds for state in ("server", "client")}
    assert at["client"]["parameter"].to_numpy() == pytest.approx(at["server"]["parameter"].to_numpy(), nan_ok=True)


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", [*KEYS.values(), {"kind": "fedssg", "variant": "paper_main"}], ids=str)
def test_session_from_the_initial_model_equals_a_separate_run(algorithm):
    """The server, the devices and all counters of rounds restart, and so do the numbers."""
    rounds = three(algorithm, "initial").rounds
    first, second, third = (rounds["parameter"][rounds["session"] == session].tolist() for session in (1, 2, 3))
    assert first == third != second
    alone = scalar(
        {"count": 1, "rounds": 3, "groups": 2, "first_group": 2},
        CURVES,
        algorithm=algorithm,
        training={"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"},
    )
    assert alone.rounds["parameter"].tolist() == second


@pytest.mark.oracle
@pytest.mark.parametrize("variant", ["code", "paper_main"])
def test_a_device_of_the_group_is_expected_in_every_round(variant):
    """1 + c / T after c of T rounds (code), or 1 (main text), though half of all devices are never present."""
    gates = three({"kind": "fedssg", "variant": variant}).rounds["gate"].tolist()
    assert gates == pytest.approx(3 * ([4 / 3, 5 / 3, 2.0] if variant == "code" else [1.0] * 3), abs=1e-5)


# What stays


def images(**changes):
    sessions = {"count": 2, "rounds": 2, "groups": 1}
    base = {
        "sessions": sessions,
        "data": {"dataset": "digits", "partition": "iid"},
        "model": "logistic",
        "training": {"local_epochs": 1, "batch_size": 60, "engine": "serial"},
        "devices": {"count": 3},
        "radio": {**STILL, "transfer": "fast"},
    }
    return edgefl.run({**base, **changes}, device="cpu")


@pytest.mark.oracle
def test_state_that_a_device_keeps_for_itself_stays(seen):
    images(algorithm="moon")
    begins = {place: before for place, _, _, _, before in seen}
    assert begins[2, 1]["seen"].tolist() == [[1.0]] * 3
    assert begins[2, 1]["previous"].abs().max() > 0


@pytest.mark.oracle
def test_last_models_stay_where_control_variates_go(seen):
    images(algorithm="scaffold", report={"models": ["all"]})
    begins = {place: before for place, _, _, _, before in seen}
    last = {place: devices for place, _, _, devices, _ in seen}
    assert torch.equal(begins[2, 1]["last_model"], last[1, 2]["last_model"])
    assert begins[2, 1]["c"].abs().max() == 0 < begins[2, 2]["c"].abs().max()


def test_losses_of_the_codec_restart_with_their_sums(seen):
    """SCAFFOLD's sums and what uploads have lost of them: c + sum lost / N = mean c_i."""
    codec = {"kind": "top_k", "part": 0.2, "error_feedback": True}
    lost = []
    learn = GlobalModel.learn

    def watched(self, told):
        outcome = learn(self, told)
        lost.append(self.learner._states.compression.lost.mean("delta_c", np.arange(3)))
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GlobalModel, "learn", watched)
        images(algorithm="scaffold", training={"local_epochs": 1, "batch_size": 60, "engine": "serial", "codec": codec})
    for part, (place, _, server, devices, _) in zip(lost, seen, strict=True):
        assert part.abs().max() > 0
        assert torch.allclose(server["c"] + part, devices["c"].mean(dim=0), atol=1e-5), place


@pytest.mark.parametrize(
    ("algorithm", "coupled"),
    [
        *((algorithm, False) for algorithm in (FedAvg(), Moon(), Moon(availability=0.5), FedDisco(base=Moon()))),
        *((algorithm, True) for algorithm in (FedDyn(), FedDisco(base=FedDyn()), Distilled(base=Scaffold()))),
        (Distilled(base=Moon()), False),
    ],
    ids=repr,
)
def test_algorithms_whose_state_restarts(algorithm, coupled):
    assert is_coupled(algorithm) == coupled


# Refusals
