"""Losses of a mini-batch as a whole: the steps are those of plain torch, also where batches have different sizes."""

import pytest
from learner_cases import learners, parts_in_order, train_round
from plain_torch import plain_move
from test_whole_sample_losses import CLASSES, IMAGES, RANDOM, SIDE, SIZES
from torch import nn

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets import Data
from edgefl.learning.learner.plans.plan import SERIAL
from edgefl.learning.losses import BatchLoss
from edgefl.learning.models.imported import Imported

COUNT = sum(SIZES)
LABELS = RANDOM.integers(0, CLASSES, len(IMAGES))


class Embedding(nn.Module):
    """Embeddings [B, 3] of images."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIDE * SIDE, CLASSES)

    def forward(self, x):
        return self.layer(x.flatten(1))


def contrastive(outputs, labels):
    """Supervised contrastive loss (Khosla et al., 2020) at temperature 1, with each sample among its own positives."""
    close = (outputs @ outputs.T).log_softmax(1)
    same = (labels[:, None] == labels).to(outputs.dtype)
    return -((close * same).sum(1) / same.sum(1)).mean()


class Contrastive(BatchLoss):
    """The loss as a member."""

    def of_batch(self, outputs, labels):
        return contrastive(outputs, labels)


def test_clients_take_the_steps_of_plain_torch():
    data = Data(IMAGES[:COUNT], LABELS[:COUNT], IMAGES[COUNT:], LABELS[COUNT:], classes=CLASSES, dtype="float64")
    with learners() as make:
        model = Imported(import_path=f"{__name__}:Embedding").with_loss(Contrastive())
        keys = {"batch_size": 4, "local_epochs": 2, "lr": 0.5, "plan": SERIAL}
        learner = make(model, data=data, parts=parts_in_order(SIZES), **keys)
        updates, _ = train_round(learner, range(3))
        for device, move in enumerate(updates.vectors["delta"]):
            wanted = plain_move(learner.task, device, lambda module, x, y: contrastive(module(x), y))
            assert (move - wanted).abs().max() < 1e-12
            assert move.abs().max() > 0.01


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["auto", "serial", "batched"])
def test_a_run_with_a_loss_of_whole_batches(engine):
    loss = f"{__name__}:Contrastive"
    keys = {"rounds": 2, "data": {"dataset": "digits"}, "devices": {"count": 4}, "model": {"kind": "mlp"}}
    keys |= {"training": {"loss": loss, "lr": 0.01, "engine": engine}}
    if engine == "batched":
        with pytest.raises(InputError, match=r"its loss is of whole mini-batches\); use serial"):
            edgefl.run(keys)
        return
    result = edgefl.run(keys)
    losses = result.rounds["test_loss"]
    assert losses.iloc[-1] < losses.iloc[0]
