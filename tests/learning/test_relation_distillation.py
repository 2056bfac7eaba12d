"""Continuous by GLFC's losses: against its program written down, padding, which classes are old, engines."""

import numpy as np
import pytest
import torch
from session_cases import distilled
from torch.nn.functional import binary_cross_entropy_with_logits as entropy

from edgefl.learning.algorithms import Batch, ForwardPass, Updates
from edgefl.learning.algorithms.distilled import TEACHER
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.algorithms.relation_distilled import LEARNED, OLD, RelationDistilled, relation_loss
from edgefl.learning.algorithms.steps import initial_state, new_session

CLASSES = 5


def glfc(output, teacher, label, old_classes):
    """The loss of one client's batch as in GLFC's program (Dong et al., CVPR 2022), for the numbers of old classes."""
    target = torch.eye(CLASSES)[label]
    g = torch.tensor([abs(torch.sigmoid(output[i, y]).item() - 1) for i, y in enumerate(label.tolist())])
    is_old = torch.tensor([y in old_classes for y in label.tolist()])
    w = torch.zeros(len(label))
    for kind in (is_old, ~is_old):
        if kind.any():
            w[kind] = g[kind] / g[kind].mean()
    compensated = (w[:, None] * entropy(output, target, reduction="none")).mean()
    if not old_classes:
        return compensated
    distilled_target = target.clone()
    distilled_target[:, old_classes] = torch.sigmoid(teacher)[:, old_classes]
    return 0.5 * compensated + 0.5 * entropy(output, distilled_target)


def drawn(seed, samples=7):
    generator = torch.Generator().manual_seed(seed)
    outputs, teacher = (2 * torch.randn(samples, CLASSES, generator=generator) for _ in range(2))
    return outputs.requires_grad_(), teacher, torch.randint(CLASSES, (samples,), generator=generator)


def mask(old_classes):
    return torch.eye(CLASSES)[list(old_classes)].sum(dim=0) if old_classes else torch.empty(0)


@pytest.mark.parametrize("old_classes", [[], [0, 3], [0, 1, 2, 3, 4], [4]])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_loss_equals_glfcs(old_classes, seed):
    """Loss and gradient; with all classes old, or all samples of new ones, too."""
    outputs, teacher, label = drawn(seed)
    batch = Batch(label, torch.full((7,), 1 / 7), {OLD: mask(old_classes)})
    got = relation_loss(outputs, teacher, batch, 1.0).mean()
    (slope,) = torch.autograd.grad(got, outputs)
    wanted = glfc(outputs, teacher, label, old_classes)
    (wanted_slope,) = torch.autograd.grad(wanted, outputs)
    assert got.item() == pytest.approx(wanted.item(), rel=1e-5)
    assert slope.numpy() == pytest.approx(wanted_slope.numpy(), rel=1e-4, abs=1e-7)


def test_padding_and_neighbours_change_nothing():
    """Two clients in one batch, one filled up with samples that weigh nothing, are each as if alone."""
    a, teach_a, y_a = drawn(1, 7)
    b, teach_b, y_b = drawn(2, 4)
    outputs = torch.zeros(2, 7, CLASSES)
    teacher = torch.zeros(2, 7, CLASSES)
    label = torch.zeros(2, 7, dtype=torch.int64)
    for row, parts in enumerate([(a.detach(), teach_a, y_a), (b.detach(), teach_b, y_b)]):
        for into, part in zip((outputs, teacher, label), parts, strict=True):
            into[row, : len(part)] = part
    weight = torch.tensor([[1 / 7] * 7, [1 / 4] * 4 + [0.0] * 3])
    batch = Batch(label, weight, {OLD: mask([0, 3]).expand(2, -1)})
    got = (relation_loss(outputs, teacher, batch, 1.0) * weight).sum(dim=1).tolist()
    assert got == pytest.approx([glfc(a, teach_a, y_a, [0, 3]).item(), glfc(b, teach_b, y_b, [0, 3]).item()], rel=1e-5)


def test_learned_classes_are_old_in_the_next_session():
    """Classes of the participants heard so far; within a session the old ones stay."""
    algorithm = RelationDistilled(base=FedAvg())

    def heard(state, *rows):
        vectors = {"delta": torch.ones(len(rows), 3)}
        ids = np.arange(len(rows))
        samples = np.full(len(rows), 2)
        return algorithm.aggregate(state, Updates(vectors, ids, samples, 4, labels=np.array(rows)))

    first = initial_state(algorithm, torch.zeros(3), 4)
    assert len(first[OLD]) == len(first[LEARNED]) == 0
    later = heard(heard(first, [2, 0, 0], [1, 1, 0]), [0, 2, 0])
    assert len(later[OLD]) == 0
    assert later[LEARNED].tolist() == [1, 1, 0]
    second = new_session(algorithm, later, later["w"], 4)
    assert second[OLD].tolist() == [1, 1, 0]
    assert second[TEACHER].tolist() == [2.0] * 3
    third = heard(second, [0, 0, 2])
    assert (third[OLD].tolist(), third[LEARNED].tolist()) == ([1, 1, 0], [1, 1, 1])


def test_the_algorithms_own_loss_is_added():
    """MOON gets the relation loss instead of the task's."""
    outputs, teacher, label = drawn(5)
    z = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(9))
    batch = Batch(label, torch.full((7,), 1 / 7), {OLD: mask([1])})
    seen = {name: ForwardPass(teacher, each) for name, each in zip(("received", "previous", TEACHER), z, strict=True)}
    losses = torch.zeros(7)
    own = ForwardPass(outputs, z[0] + z[1])
    both = RelationDistilled(base=Moon()).loss(losses, own, seen, batch)
    apart = relation_loss(outputs, teacher, batch, 1.0) + Moon().loss(losses, own, seen, batch)
    assert both.detach().numpy() == pytest.approx(apart.detach().numpy(), rel=1e-6)


@pytest.mark.oracle
def test_engines_agree():
    """Over two sessions, so that there are old classes, with devices of unequal sizes."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.4}}
    both = []
    for engine in ("serial", "batched"):
        training = {"local_epochs": 1, "batch_size": 30, "engine": engine, "lr": 0.05}
        result = distilled(1.0, loss="relation", training=training, algorithm="moon", data=data, devices={"count": 14})
        assert result.rounds["session"].max() == 2
        both.append(result.parameters)
    assert np.abs(both[0] - both[1]).max() < 1e-5


@pytest.mark.oracle
def test_the_teacher_holds_back():
    """The first session, where nothing is old, is the same whatever the weight; in the second it is not."""
    few, many = (distilled(weight, loss="relation", rounds=3) for weight in (0.1, 5.0))
    first = few.rounds["session"] == 1
    assert few.rounds[first].equals(many.rounds[first])
    assert np.abs(few.parameters - many.parameters).max() > 1e-3
