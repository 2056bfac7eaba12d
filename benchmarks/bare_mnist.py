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

EPOCHS, BATCH, LR, DECAY, WEIGHT_DECAY, CLIP = 5, 50, 0.1, 0.998, 1e-3, 10.0


def main(mnist, plan):
    with np.load(mnist) as arrays:
        x, y, test_x, test_y = (torch.from_numpy(arrays[k]) for k in ("train_x", "train_y", "test_x", "test_y"))
    x, test_x = ((a.flatten(1).float() / 255 - 0.1307) / 0.3081 for a in (x, test_x))
    content = json.loads(Path(plan).read_text(encoding="utf-8"))
    parts, rounds = [torch.tensor(part) for part in content["parts"]], content["rounds"]
    torch.manual_seed(1)
    layers = [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10)]
    model = nn.Sequential(*layers)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    accuracy = 0.0
    for number, participants in enumerate(rounds):
        total = {name: torch.zeros_like(value) for name, value in state.items()}
        samples = sum(len(parts[device]) for device in participants)
        for device in participants:
            model.load_state_dict(state)
            train(model, x, y, parts[device], LR * DECAY**number)
            for name, value in model.state_dict().items():
                total[name] += value * (len(parts[device]) / samples)
        state = total
        model.load_state_dict(state)
        with torch.no_grad():
            outputs = model(test_x)
            nn.functional.cross_entropy(outputs, test_y).item()
            accuracy = (outputs.argmax(1) == test_y).float().mean().item()
    print(f"{len(rounds)} rounds, accuracy {accuracy:.4f}")


def train(model, x, y, part, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=WEIGHT_DECAY)
    for _ in range(EPOCHS):
        order = part[torch.randperm(len(part))]
        for batch in order.split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
