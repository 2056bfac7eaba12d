"""The plan by rule: what it depends on, and that it depends on nothing else."""

from dataclasses import replace

import pytest
from learner_cases import learners, random_data

from edgefl.learning.learner import memory
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.learner.plans.rule import CACHED_PARAMETERS, WIDEST_ON_CPU, WIDEST_ON_GPU, Work, plan_by_rule
from edgefl.learning.learner.workers.trainer import Trainer
from edgefl.learning.models.cnn import Cnn
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.models.resnet import ResNet18

DENSE = Work(by_hand=True, images=False, parameters=7_850, activations=10, batch_size=50, participants=None)
# parameters and the widths that were fastest on two processors, or within a tenth of it (docs/benchmarks.md)
MEASURED = {"logistic": (7_850, {16, 32}), "mlp": (50_890, {8, 16}), "fcn": (199_210, {1, 2, 4})}


@pytest.mark.parametrize("name", MEASURED)
def test_dense_models_are_as_wide_as_was_fastest(name):
    parameters, good = MEASURED[name]
    plan = plan_by_rule("auto", replace(DENSE, parameters=parameters), "cpu")
    assert plan.engine == "batched"
    assert plan.kernel == "layers"
    assert plan.width in good


@pytest.mark.parametrize("parameters", [1, 1_000, CACHED_PARAMETERS // 4, CACHED_PARAMETERS, 10**9])
def test_a_cohort_stays_in_the_cache(parameters):
    width = plan_by_rule("auto", replace(DENSE, parameters=parameters), "cpu").width
    assert 1 <= width <= WIDEST_ON_CPU
    assert width == 1 or width * parameters <= CACHED_PARAMETERS
    assert width == WIDEST_ON_CPU or 2 * width * parameters > CACHED_PARAMETERS


@pytest.mark.parametrize(("participants", "width"), [(1, 1), (2, 1), (2.5, 2), (10, 5), (63, 32), (1e6, 32)])
def test_a_round_has_work_for_two_cores(participants, width):
    assert plan_by_rule("auto", replace(DENSE, participants=participants), "cpu").width == width


def test_images_are_trained_one_client_at_a_time():
    assert plan_by_rule("auto", replace(DENSE, images=True), "cpu") == Plan("batched", "layers", 1)


def test_models_without_gradients_by_hand_are_trained_by_autograd():
    other = replace(DENSE, by_hand=False)
    assert plan_by_rule("auto", other, "cpu") == SERIAL
    assert plan_by_rule("batched", other, "cpu") == Plan("batched", "vmap", 32)
    assert plan_by_rule("vmap", DENSE, "cpu") == Plan("batched", "vmap", 32)


def test_gpus_take_as_many_as_their_activations_allow():
    small = plan_by_rule("auto", DENSE, "cuda")
    assert small == Plan("batched", "vmap", WIDEST_ON_GPU)
    large = replace(DENSE, parameters=11_000_000, activations=3_000_000)
    assert 1 < plan_by_rule("auto", large, "cuda").width < WIDEST_ON_GPU
    assert plan_by_rule("auto", replace(large, activations=10**9), "cuda").width == 1


@pytest.fixture
def learner(monkeypatch):
    """Makes learners where measuring, asking for free memory or for the time is a failure."""

    def never(*_args, **_keys):
        raise AssertionError("the rule looked at the machine")

    monkeypatch.setattr(Trainer, "attempt", never)
    monkeypatch.setattr("edgefl.learning.learner.plans.choice.remembered", never)
    monkeypatch.setattr("edgefl.learning.learner.plans.choice.budget", never)
    monkeypatch.setattr(memory, "budget", never)
    with learners() as make:
        yield make


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_a_plan_does_not_depend_on_the_machine(learner, processes):
    of = learner(Fcn(hidden=(5,)), plan=None, processes=processes)
    assert of.plan == Plan("batched", "layers", 32)


def test_a_shipped_model_without_gradients_by_hand(learner):
    data = random_data(200, "float32", shape=(3, 32, 32))
    assert learner(ResNet18(), data=data, plan=None).plan == SERIAL


def test_convolutions_are_found(learner):
    data = random_data(200, "float32", shape=(1, 28, 28))
    assert learner(Cnn(), data=data, plan=None).plan == Plan("batched", "layers", 1)


def test_a_precision_that_layers_by_hand_do_not_know(learner):
    assert learner(plan=None, data=random_data(200, "float32"), precision="bfloat16").plan == SERIAL


def test_outputs_of_layers_are_counted(learner):
    """4 x 5 inputs flattened, 8 hidden units before and after the rectifier, 3 classes."""
    of = learner(Fcn(hidden=(8,)))
    assert of._workers.submit("activations", tuple, int).result() == 20 + 8 + 8 + 3
