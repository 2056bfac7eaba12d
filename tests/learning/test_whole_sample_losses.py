"""Losses of all labels of a sample together: overlaps of masks in closed form, CTC by torch, both in training."""

import numpy as np
import pytest
import torch
from learner_cases import learners, parts_in_order, train_round
from plain_torch import plain_move
from torch import nn

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import IGNORED
from edgefl.learning.learner.kernels.compared import compared, sample_losses
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.losses import LOSSES
from edgefl.learning.models.imported import Imported

SIZES = [6, 9, 4]
PLANS = {"serial": SERIAL, "batched": Plan("batched", "vmap", 3)}
SIDE = 3
CLASSES = 3
RANDOM = np.random.default_rng(2)
IMAGES = RANDOM.normal(size=(sum(SIZES) + 4, SIDE, SIDE))
MASKS = RANDOM.integers(0, CLASSES, IMAGES.shape)
MASKS[::4, 0] = IGNORED
TEXTS = np.full((sum(SIZES) + 4, SIDE), IGNORED)
TEXTS[:, 0] = RANDOM.integers(1, CLASSES, len(TEXTS))
TEXTS[::2, 1] = 3 - TEXTS[::2, 0]  # never the same twice in a row, which three outputs could not spell


class Pixels(nn.Module):
    """Scores [B, classes, H, W] of each pixel from all of them."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIDE * SIDE, CLASSES * SIDE * SIDE)

    def forward(self, x):
        return self.layer(x.flatten(1)).view(-1, CLASSES, SIDE, SIDE)


class Frames(nn.Module):
    """Scores [B, classes, T] of each row of an image."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIDE, CLASSES)

    def forward(self, x):
        return self.layer(x).movedim(-1, 1)


def overlap(outputs, mask, smooth, *, iou):
    """The loss of one image [n, H, W], class by class, with plain sums over the pixels that count."""
    chances = np.exp(outputs) / np.exp(outputs).sum(0)
    counted = mask != IGNORED
    scores = []
    for label in range(CLASSES):
        p = chances[label][counted]
        g = (mask[counted] == label).astype(float)
        both = (p * g).sum()
        if iou:
            scores.append((both + smooth) / (p.sum() + g.sum() - both + smooth))
        else:
            scores.append((2 * both + smooth) / (p.sum() + g.sum() + smooth))
    return 1 - np.mean(scores)


def with_loss(network, loss):
    return Imported(import_path=f"{__name__}:{network.__name__}").with_loss(loss)


@pytest.mark.parametrize("smooth", [1e-5, 1.0])
@pytest.mark.parametrize("name", ["dice", "soft_iou"])
def test_overlap_of_masks_has_its_closed_form_for_any_leading_axes(name, smooth):
    loss = LOSSES.load(name)(smooth=smooth)
    outputs = RANDOM.normal(size=(5, CLASSES, SIDE, SIDE))
    wanted = [overlap(one, mask, smooth, iou=name == "soft_iou") for one, mask in zip(outputs, MASKS, strict=False)]
    model = with_loss(Pixels, loss)
    found = sample_losses(model, torch.from_numpy(outputs), torch.from_numpy(MASKS[:5]))
    assert found.numpy() == pytest.approx(np.array(wanted))
    of_clients = sample_losses(model, torch.from_numpy(outputs)[None], torch.from_numpy(MASKS[:5])[None], leading=2)
    assert torch.equal(of_clients[0], found)
    sums = compared(model, torch.from_numpy(outputs), torch.from_numpy(MASKS[:5]), classes=True)
    assert (sums.losses / sums.labels).numpy() == pytest.approx(np.array(wanted))


def test_overlap_of_numbers_is_that_of_two_classes_of_which_one_counts():
    """A perfect prediction costs nothing, the opposite of a mask everything."""
    loss = LOSSES.load("dice")()
    mask = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    sure = 50.0 * (2 * mask - 1)
    assert loss.of_samples(sure, mask).item() == pytest.approx(0.0, abs=1e-6)
    assert loss.of_samples(-sure, mask).item() == pytest.approx(1.0, abs=1e-4)
    logits = torch.tensor([[0.3, -1.0, 2.0, 0.1]])
    p = logits.sigmoid()
    wanted = 1 - 2 * (p[0, 0] + p[0, 2]) / (p.sum() + 2)
    assert loss.of_samples(logits, mask).item() == pytest.approx(wanted.item(), abs=1e-5)


def plain_losses(network, x, y, name):
    if name == "ctc":
        lengths = (y != IGNORED).sum(1)
        log_chances = network(x).log_softmax(1).permute(2, 0, 1)
        times = torch.full((len(y),), SIDE)
        return nn.functional.ctc_loss(log_chances, y.clamp(min=0), times, lengths, reduction="none")
    chances = network(x).softmax(1)
    counted = (y != IGNORED)[:, None]
    hot = nn.functional.one_hot(y.clamp(min=0), CLASSES).movedim(-1, 1) * counted
    both = (chances * hot).sum((2, 3))
    p = (chances * counted).sum((2, 3))
    return 1 - ((2 * both + 1e-5) / (p + hot.sum((2, 3)) + 1e-5)).mean(1)


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", ["dice", "ctc"])
def test_training_takes_the_steps_of_plain_torch(name, plan):
    """A sample counts by its labels that count, as with other losses of several labels."""
    network, labels = (Frames, TEXTS) if name == "ctc" else (Pixels, MASKS)
    count = sum(SIZES)
    data = Data(IMAGES[:count], labels[:count], IMAGES[count:], labels[count:], classes=CLASSES, dtype="float64")
    keys = {"batch_size": 4, "local_epochs": 2, "lr": 0.5}
    model = with_loss(network, LOSSES.load(name)())
    with learners() as make:
        learner = make(model, data=data, parts=parts_in_order(SIZES), plan=PLANS[plan], **keys)
        updates, _ = train_round(learner, range(3))

        def mean_loss(module, x, y):
            counts = (y != IGNORED).flatten(1).sum(1)
            return (plain_losses(module, x, y, name) * counts).sum() / counts.sum()

        for device, move in enumerate(updates.vectors["delta"]):
            assert (move - plain_move(learner.task, device, mean_loss)).abs().max() < 1e-12


def test_a_loss_of_masks_is_refused_where_a_sample_has_one_class():
    keys = {"rounds": 1, "data": {"dataset": "digits"}, "devices": {"count": 4}, "training": {"loss": "dice"}}
    with pytest.raises(InputError, match=r"training\.loss: dice compares all labels of a sample"):
        edgefl.run(keys)
