"""The plan by rule: what it depends on, and that it depends on nothing else."""

from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from learner_cases import learners, random_data

from edgefl.learning.learner import memory
from edgefl.learning.learner.kernels import triton_availability
from edgefl.learning.learner.kernels.triton_availability import has_triton
from edgefl.learning.learner.plans import choice
from edgefl.learning.learner.plans.plan import SERIAL, CannotBatchError, Plan
from edgefl.learning.learner.plans.rule import CACHED_PARAMETERS, WIDEST_ON_CPU, WIDEST_ON_GPU, Work, plan_by_rule
from edgefl.learning.models.cnn import Cnn
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.models.resnet import ResNet18

DENSE = Work(
    by_hand=True,
    images=False,
    by_triton=False,
    parameters=7_850,
    activations=10,
    batch_size=50,
    participants=None,
)
RESNET_18 = replace(  # of CIFAR-10, in batches of 10
    DENSE, by_hand=False, images=True, parameters=11_173_962, activations=2_000_000, batch_size=10
)
H100_BYTES = 85_045_018_624  # as torch has it
GIB = 2**30
# parameters and the widths that were fastest on two processors, or within a tenth of it (docs/benchmarks.md)
MEASURED = {"logistic": (7_850, {16, 32}), "mlp": (50_890, {8, 16}), "fcn": (199_210, {1, 2, 4})}


@pytest.mark.parametrize("name", MEASURED)
def test_dense_models_are_as_wide_as_was_fastest(name):
    parameters, good = MEASURED[name]
    plan = plan_by_rule("auto", replace(DENSE, parameters=parameters))
    assert plan in {Plan("batched", "layers", width) for width in good}


@pytest.mark.parametrize("parameters", [1, 1_000, CACHED_PARAMETERS // 4, CACHED_PARAMETERS, 10**9])
def test_a_cohort_stays_in_the_cache(parameters):
    width = plan_by_rule("auto", replace(DENSE, parameters=parameters)).width
    assert 1 <= width <= WIDEST_ON_CPU
    assert width == 1 or width * parameters <= CACHED_PARAMETERS
    assert width == WIDEST_ON_CPU or 2 * width * parameters > CACHED_PARAMETERS


@pytest.mark.parametrize(("participants", "width"), [(1, 1), (2, 1), (2.5, 2), (10, 5), (63, 32), (1e6, 32)])
def test_a_round_has_work_for_two_cores(participants, width):
    assert plan_by_rule("auto", replace(DENSE, participants=participants)).width == width


def test_images_are_trained_one_client_at_a_time():
    assert plan_by_rule("auto", replace(DENSE, images=True)) == Plan("batched", "layers", 1)


def test_models_without_gradients_by_hand_are_trained_by_autograd():
    other = replace(DENSE, by_hand=False)
    assert plan_by_rule("auto", other) == SERIAL
    assert plan_by_rule("batched", other) == Plan("batched", "vmap", 32)
    assert plan_by_rule("vmap", DENSE) == Plan("batched", "vmap", 32)


def test_kernels_on_gpus():
    """Our own where they know the layers, layers by hand without images, and vmap for all else."""
    own = replace(RESNET_18, by_triton=True)
    for engine in ("auto", "batched"):
        assert plan_by_rule(engine, DENSE, H100_BYTES) == Plan("batched", "layers", WIDEST_ON_GPU)
        assert plan_by_rule(engine, replace(DENSE, images=True), H100_BYTES).kernel == "vmap"
        assert plan_by_rule(engine, RESNET_18, H100_BYTES).kernel == "vmap"
        assert plan_by_rule(engine, own, H100_BYTES).kernel == "triton"
    assert plan_by_rule("vmap", DENSE, H100_BYTES).kernel == "vmap"
    assert plan_by_rule("vmap", own, H100_BYTES).kernel == "vmap"
    assert plan_by_rule("auto", own).kernel == "autograd"  # a CPU has no such kernels


def test_gpus_take_as_many_as_their_memory_holds():
    """50 ResNet-18s took 10 GiB in bfloat16 on an H100, which holds those of a round together."""
    width = plan_by_rule("auto", RESNET_18, H100_BYTES).width
    assert width >= 50
    assert width == WIDEST_ON_GPU
    for memory_bytes in (8 * GIB, 24 * GIB, 40 * GIB):
        narrower = plan_by_rule("auto", RESNET_18, memory_bytes).width
        needed_bytes = narrower * 4 * (6 * RESNET_18.parameters + 3 * 10 * RESNET_18.activations)
        assert memory_bytes / 8 < needed_bytes <= memory_bytes / 2
    assert plan_by_rule("auto", replace(RESNET_18, activations=10**9), H100_BYTES).width == 1


def test_cards_of_one_kind_train_alike():
    """What a card reports depends on its driver, too."""
    for work in (RESNET_18, DENSE):
        widths = {plan_by_rule("auto", work, H100_BYTES - less_bytes).width for less_bytes in (0, 1, 2**20, 3 * GIB)}
        assert len(widths) == 1


class Rehearsals:
    """Workers on which each kernel fails that is not among the `good` ones."""

    def __init__(self, good):
        self.good = good

    def submit(self, method, arguments, _take):
        future = Future()
        if method == "activations":
            future.set_result(1000)
            return future
        plan, _ = arguments()
        if plan.kernel in self.good:
            future.set_result(None)
        else:
            future.set_exception(CannotBatchError("no compiler"))
        return future


@pytest.mark.parametrize(
    ("good", "expected"), [({"triton", "vmap"}, "triton"), ({"vmap"}, "vmap"), (set(), "autograd")]
)
def test_kernels_that_fail_in_a_rehearsal_are_left_out(good, expected, learner, monkeypatch, caplog):
    pytest.importorskip("triton")
    data = random_data(200, "float32", shape=(1, 28, 28))
    of = learner(Cnn(), data=data)
    monkeypatch.setattr(choice, "has_triton", lambda _device: True)
    monkeypatch.setattr(choice, "gpu_bytes", lambda _device: H100_BYTES)
    inputs = SimpleNamespace(start=SimpleNamespace(device=torch.device("cuda:0")))
    with caplog.at_level("WARNING", "edgefl"):
        plan = choice.choose_plan(of.task, of._network, Rehearsals(good), inputs)
    assert plan.kernel == expected
    assert ("no compiler" in caplog.text) == ("triton" not in good)


def test_only_gpus_with_tensor_cores_for_its_types_have_triton(monkeypatch):
    pytest.importorskip("triton")
    card = torch.device("cuda:0")
    for capability, has in {(7, 5): False, (8, 0): True, (9, 0): True, (12, 0): True}.items():
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, found=capability: found)
        assert has_triton(card) == has
    assert not has_triton(torch.device("cpu"))
    monkeypatch.setattr(triton_availability, "find_spec", lambda _: None)
    assert not has_triton(card)


@pytest.fixture
def learner(monkeypatch):
    """Makes learners where measuring, asking for free memory or for the time is a failure."""

    def never(*_args, **_keys):
        raise AssertionError("the rule looked at the machine")

    monkeypatch.setattr(memory, "budget", never)
    with learners() as make:
        yield make


@pytest.mark.oracle
@pytest.mark.parametrize("processes", [0, 1, 3])
def test_a_plan_does_not_depend_on_the_machine(learner, processes):
    of = learner(Fcn(hidden=(5,)), plan=None, processes=processes)
    assert of.plan == Plan("batched", "layers", 32)


@pytest.mark.oracle
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
