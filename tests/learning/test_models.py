"""Models: published parameter counts, costs against what torch counts, and what stands for nothing in a row of ids."""

import pytest
import torch
from model_cases import MODEL_NAMES, default, samples
from torch.utils.flop_counter import FlopCounterMode

from edgefl.learning.models import MODELS
from edgefl.learning.models.cnn import Cnn, CnnFemnist, CnnMifa, CnnMnist, LeNet5, LeNetFemnist, SvhnCnn, Vgg9
from edgefl.learning.models.din import Din
from edgefl.learning.models.fasttext import FastText
from edgefl.learning.models.fcn import Fcn, Mlp
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.models.resnet import ResNet18, ResNet18Feat, ResNet20, ResNet34, ResNet34Feat

GRAY = (28, 28)
COLOUR = (3, 32, 32)
TINY = (3, 64, 64)
IMAGENET_STEM = 37_011_456  # multiplications of the backbone of ResNet-18 on 32x32

CASES = [
    (Logistic(), GRAY, 10, 7_850, 7_840),
    (Mlp(), GRAY, 10, 50_890, 50_816),
    (Mlp(dropout=0.5), GRAY, 10, 50_890, 50_816),
    (Fcn(), GRAY, 10, 199_210, 198_800),
    (Fcn(hidden=(100,)), GRAY, 26, 81_126, 81_000),
    (Fcn(hidden=(100, 100)), GRAY, 10, 89_610, 89_400),
    (LeNet5(), GRAY, 10, 44_426, 281_640),
    (LeNet5(), (1, 28, 28), 10, 44_426, 281_640),
    (LeNet5(), COLOUR, 10, 62_006, 651_720),
    (LeNet5(), GRAY, 62, 48_846, 286_008),
    (Cnn(), COLOUR, 10, 797_962, 14_693_248),
    (Cnn(), COLOUR, 100, 815_332, 14_693_248 + 192 * 90),
    (CnnMnist(), GRAY, 10, 228_586, 5_846_784),
    (LeNetFemnist(), GRAY, 62, 31_972, 133_044),
    (CnnFemnist(), GRAY, 62, 1_206_590, 11_999_104),
    (CnnMifa(), GRAY, 10, 582_026, 4_267_008),
    (CnnMifa(), COLOUR, 10, 878_538, 7_825_920),
    (ResNet20(), COLOUR, 10, 270_906, 40_813_184),
    (Vgg9(), COLOUR, 10, 2_308_810, 38_636_032),
    (ResNet18(norm="none"), COLOUR, 10, 11_164_362, 555_422_720),
    (ResNet18(), COLOUR, 10, 11_173_962, 555_422_720),
    (ResNet18(groups=32), COLOUR, 100, 11_220_132, 555_422_720 + 512 * 90),
    (ResNet18(stem="imagenet"), COLOUR, 10, 11_181_642, IMAGENET_STEM + 512 * 10),
    (ResNet18(stem="imagenet", norm="batch"), COLOUR, 100, 11_227_812, IMAGENET_STEM + 512 * 100),
    (ResNet18Feat(), COLOUR, 10, 11_573_066, IMAGENET_STEM + 512 * 512 + 512 * 256 + 256 * 10),
    (ResNet18Feat(), COLOUR, 100, 11_596_196, IMAGENET_STEM + 512 * 512 + 512 * 256 + 256 * 100),
    (ResNet34Feat(), TINY, 200, 21_730_056, 299_485_184),
    (SvhnCnn(), COLOUR, 10, 667_178, 29_723_136),
    (FastText(), (64,), 4, 9_157_804, 1_200),
    (Din(), (6 + 20,), 2, 205_398, 2_768 + 20 * 915),
]


@pytest.fixture(autouse=True)
def _same_draws():
    torch.manual_seed(0)


@pytest.mark.oracle
@pytest.mark.parametrize(("model", "shape", "classes", "parameters", "multiplications"), CASES)
def test_published_sizes(model, shape, classes, parameters, multiplications):
    """Algorithm cards, section 4.1; the module itself; and torch's FLOP counter (2 FLOPs a multiplication).

    The counter takes no notice of embeddings, sums, norms and products by element, nor do the cards.
    """
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        module = model.module(shape, classes)
        module(samples(model, shape))
    assert model.parameters(shape, classes) == parameters == sum(p.numel() for p in module.parameters())
    assert model.multiplications(shape, classes) == multiplications == counter.get_total_flops() / 2 / 3


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (ResNet18(), (28, 28)),
        (ResNet18(), (1, 17, 23)),
        (ResNet34(stem="imagenet"), (4, 9, 9)),
        (ResNet20(), (1, 17, 23)),
        (SvhnCnn(), (4, 9, 9)),
    ],
)
def test_counts_follow_odd_sizes_and_other_channels(model, shape):
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        module = model.module(shape, 7)
        assert module(samples(model, shape)).shape == (3, 7)
    assert model.parameters(shape, 7) == sum(p.numel() for p in module.parameters())
    assert model.multiplications(shape, 7) == counter.get_total_flops() / 2 / 3


def test_a_price_replaces_counting():
    model = Logistic.model_validate({"cost": {"parameters": 667_178, "flops_per_parameter": 91.04}})
    assert model.payload_parameters((8, 8), 10) == 667_178
    assert model.flops_per_sample((8, 8), 10) == pytest.approx(667_178 * 91.04)
    assert Logistic().flops_per_sample((28, 28), 10) == 6 * 7_840


@pytest.mark.oracle
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_builds_from_defaults_and_cites_a_source(name):
    model, shape, classes = default(name)
    assert model.check(shape, classes) is None
    module = model.module(shape, classes)
    assert sum(p.numel() for p in module.parameters()) == model.parameters(shape, classes)
    outputs = module(samples(model, shape, 4))
    if model.of_each_token:
        outputs = outputs[..., 0]
    targets = torch.zeros(4, dtype=torch.long)
    assert model.sample_losses(outputs, targets).shape == (4,)
    assert torch.allclose(model.sample_losses(outputs[None], targets[None])[0], model.sample_losses(outputs, targets))
    assert "paper" in MODELS.summary(name)


@pytest.mark.oracle
@pytest.mark.parametrize("model", [Vgg9(), pytest.param(ResNet18(norm="none"), marks=pytest.mark.oracle), ResNet20()])
def test_signals_survive_the_first_forward_pass(model):
    """Without a norm, a stack of many layers drowns or explodes unless it starts from the right scale."""
    torch.manual_seed(0)
    outputs = model.module(COLOUR, 10)(torch.randn(4, *COLOUR))
    assert 1e-4 < outputs.std(0).mean() < 10


@pytest.mark.parametrize(
    ("model", "shape", "classes", "reason"),
    [
        (LeNet5(), (784,), 10, "needs images"),
        (ResNet18(), (1, 1, 28, 28), 10, "needs images"),
        (LeNet5(), (15, 16), 10, "needs larger images"),
        (Cnn(), (32, 32, 3), 10, "needs larger images"),
        (Vgg9(), (28, 28), 10, "needs larger images"),
        (Vgg9(), COLOUR, 1, "at least 2 classes"),
        (FastText(), (28, 28), 10, "needs rows of token ids"),
        (FastText(), (64,), 0, "at least 2 classes"),
        (Din(), (28, 28), 2, "needs rows of 6 ids and a history"),
        (Din(), (6,), 2, "needs rows of 6 ids and a history"),
        (Din(), (7,), 3, "needs data with 2 classes"),
    ],
)
def test_unfit_data_are_refused(model, shape, classes, reason):
    assert reason in model.check(shape, classes)


PADDED = [
    (FastText(vocabulary=9, dimension=4), 4, [[1, 2, 0, 0], [0, 0, 0, 0]], "embedding.weight"),
    (Din(), 2, [[1, 1, 1, 1, 1, 3, 2, 4, 0, 0], [1, 1, 1, 1, 1, 3, 0, 0, 0, 0]], "tables.5.weight"),
]


@pytest.mark.parametrize(("model", "classes", "rows", "table"), PADDED)
def test_padding_counts_for_nothing(model, classes, rows, table):
    """The last row holds nothing but padding; neither it nor the padding's own embedding disturbs anything."""
    rows = torch.tensor(rows)
    module = model.module(rows[0].shape, classes)
    outputs = module(rows)
    losses = model.sample_losses(outputs, torch.tensor([0, 1]))
    losses.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())
    assert (module.get_parameter(table).grad[0] == 0).all()
    with torch.no_grad():
        module.get_parameter(table)[0] = 100.0
    assert outputs.isfinite().all()
    assert torch.equal(module(rows), outputs)
    assert torch.allclose(module(rows[:1, :-2]), outputs[:1])  # shorter padding


def test_the_femnist_lenets_dropout_stands_before_both_dense_layers():
    names = [type(layer).__name__ for layer in LeNetFemnist().module(GRAY, 62)]
    assert names[-6:] == ["Flatten", "Dropout", "Linear", "ReLU", "Dropout", "Linear"]


def test_fasttext_is_linear_in_the_mean_of_the_words():
    module = FastText(vocabulary=9, dimension=4).module((3,), 4)
    mean = (module.embedding.weight[2] + module.embedding.weight[5]) / 2
    assert torch.allclose(module(torch.tensor([[2, 0, 5]]))[0], module.linear(mean))


def test_din_attends_to_a_single_item_fully():
    """The softmax over one item is 1: repeating the item changes nothing, another one does."""
    module = Din().module((9,), 2)
    once, twice, other = module(
        torch.tensor([[1] * 5 + [3] + history for history in ([7, 0, 0], [7, 0, 7], [8, 0, 0])])
    )
    assert torch.allclose(once, twice)
    assert not torch.allclose(once, other)


def test_din_classifies_by_the_sign_of_its_logit():
    logits = torch.tensor([-2.0, 0.5])
    labels = torch.tensor([0, 1])
    assert torch.equal(Din().predicted(logits), labels)
    expected = torch.nn.functional.softplus(torch.tensor([-2.0, -0.5]))
    assert torch.allclose(Din().sample_losses(logits, labels), expected)
    assert torch.equal(Logistic().predicted(torch.tensor([[0.1, 0.3], [2.0, 1.0]])), torch.tensor([1, 0]))
