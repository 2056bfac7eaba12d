"""A bare PyTorch loop that does the SGD steps and evaluations of scenarios/mnist-fedavg.yaml, and nothing else.

One client after another, torch.optim.SGD, data in one tensor, batches by one gather: what one would write by hand. Who
holds which samples and who takes part comes from a JSON file, so that both sides do the same number of steps.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

EPOCHS = 5
BATCH = 50
LR = 0.1
DECAY = 0.998  # of the learning rate, from round to round
WEIGHT_DECAY = 1e-3
CLIP = 10.0  # the largest norm of a gradient
PIXEL_MEAN = 0.1307
PIXEL_DEVIATION = 0.3081


def main(mnist, plan):
    """Train as the plan says, and print the accuracy that is reached."""
    with np.load(mnist) as arrays:
        x = torch.from_numpy(arrays["train_x"])
        y = torch.from_numpy(arrays["train_y"])
        test_x = torch.from_numpy(arrays["test_x"])
        test_y = torch.from_numpy(arrays["test_y"])
    x = standardised(x)
    test_x = standardised(test_x)
    content = json.loads(Path(plan).read_text(encoding="utf-8"))
    parts = [torch.tensor(part) for part in content["parts"]]
    rounds = content["rounds"]
    torch.manual_seed(1)
    layers = [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10)]
    model = nn.Sequential(*layers)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    accuracy = 0.0
    for number, participants in enumerate(rounds):
        chosen = [parts[device] for device in participants]
        state = averaged(model, state, x, y, chosen, LR * DECAY**number)
        model.load_state_dict(state)
        accuracy = tested(model, test_x, test_y)
    print(f"{len(rounds)} rounds, accuracy {accuracy:.4f}")


def standardised(images):
    """Return images [n, 28, 28] of bytes as vectors [n, 784] of zero mean and unit variance."""
    pixels = images.flatten(1).float() / 255
    return (pixels - PIXEL_MEAN) / PIXEL_DEVIATION


def averaged(model, state, x, y, parts, lr):
    """Train each participant from the same state, and return the average of their models, weighted by samples."""
    total = {name: torch.zeros_like(value) for name, value in state.items()}
    samples = sum(len(part) for part in parts)
    for part in parts:
        model.load_state_dict(state)
        train(model, x, y, part, lr)
        for name, value in model.state_dict().items():
            total[name] += value * (len(part) / samples)
    return total


def train(model, x, y, part, lr):
    """Train a model on the samples of one participant."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=WEIGHT_DECAY)
    for _ in range(EPOCHS):
        order = part[torch.randperm(len(part))]
        for batch in order.split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()


def tested(model, x, y):
    """Evaluate a model as the emulator does, loss included, and return its accuracy."""
    with torch.no_grad():
        outputs = model(x)
        nn.functional.cross_entropy(outputs, y).item()
        return (outputs.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    main(*sys.argv[1:])
