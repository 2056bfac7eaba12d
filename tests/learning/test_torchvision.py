"""A network of each of torchvision's families learns as the module by itself does."""

import numpy as np
import pytest

from edgefl.core.streams import Streams
from edgefl.learning.datasets import Data
from edgefl.learning.learner.network_trial import network_problem
from edgefl.learning.models.imported import Imported

SIZES = {  # of images, as small as each family takes them
    "alexnet": 64,
    "convnext_tiny": 32,
    "densenet121": 32,
    "efficientnet_b0": 32,
    "googlenet": 64,
    "inception_v3": 80,
    "maxvit_t": 224,
    "mnasnet0_5": 32,
    "mobilenet_v2": 32,
    "mobilenet_v3_small": 32,
    "regnet_y_400mf": 32,
    "resnet18": 32,
    "shufflenet_v2_x0_5": 32,
    "squeezenet1_1": 64,
    "swin_t": 32,
    "swin_v2_t": 32,
    "vgg11": 32,
    "vit_b_32": 224,
}
SMALL = 32
AUXILIARY = ("googlenet", "inception_v3")


def problem_of(name, **keys):
    model = Imported.model_validate({"import_path": f"torchvision.models:{name}", "num_classes": 10, **keys})
    size = SIZES.get(name, SMALL)
    x = np.random.default_rng(0).normal(size=(10, 3, size, size)).astype(np.float32)
    y = np.arange(10)
    return network_problem(model, Data(x, y, x, y, classes=10), Streams(1), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_each_family_learns_as_its_module(name):
    keys = {}
    if name in AUXILIARY:
        keys = {"aux_logits": False, "init_weights": True}
    assert problem_of(name, **keys) is None


@pytest.mark.oracle
def test_a_small_member_of_a_family_learns_as_its_module():
    layers = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 16}
    assert problem_of("VisionTransformer", image_size=SMALL, patch_size=16, **layers) is None


@pytest.mark.slow  # of a small network tests/learning/test_own_networks.py has it
def test_auxiliary_outputs_are_refused_before_the_run():
    assert problem_of("googlenet", init_weights=False) == (
        "googlenet: in training must give [B, 10], got GoogLeNetOutputs for B = 4: switch auxiliary outputs off"
    )
