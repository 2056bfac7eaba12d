# ruff: noqa: INP001  # MkDocs reads this file; nothing imports it
"""Lets the search find pages by words that they do not use, guides before reference, and no copied files.

MkDocs calls `on_page_markdown` while it builds. Words become tags of a page, which the search weighs like titles.
"""

import re

from mkdocs.structure.pages import Page

KEY = re.compile(r"^\| `(\w+_\w+)` \|", re.MULTILINE)  # a key or column of the reference: a name, not a word
COPIED = "repository/"  # files of the repository that pages show
BOOSTS = {
    "tasks/": 2,
    "start/": 2,
    "tutorial/": 0.7,
    "notebooks/": 0.5,
    "channel/": 0.7,
    "reference/scenario/": 1,
    "reference/catalogues/": 0.6,
    "reference/python/": 0.3,
    "reference/": 0.7,
    "reproductions/": 0.3,
    "repository/": 0.1,
    "index.md": 0.7,
    "architecture.md": 0.2,
    "": 2,  # the guides
}
"""The factor of pages by how their paths begin; the first that fits."""

WORDS = {
    "algorithms.md": "weighting fedavg fedprox scaffold compression quantisation quantization sparsification",
    "artifact-evaluation.md": "reviewer badge reproducible package",
    "backhaul.md": "core network fibre latency wired",
    "calibration.md": "measurements own testbed fit",
    "cells.md": "base station handover gNB several cells",
    "channel.md": "path loss fading propagation radio channel models 3GPP",
    "channel/errors.md": "packet loss retransmission HARQ error rate",
    "churn.md": "dropout availability client availability unavailable clients arrival departure",
    "cluster.md": "ray slurm hpc distributed multi-gpu several gpus",
    "csi.md": "channel state information feedback",
    "datasets.md": "own dataset custom dataset download mnist cifar",
    "devices.md": "battery cpu energy consumption heterogeneity number of devices clients raspberry pi phone",
    "drift.md": "concept drift shift changing data non-stationary continual recurring label swap rotated permuted",
    "evaluation.md": "test accuracy f1 confusion matrix per-client personalisation early stopping validation best",
    "export.md": "plot figure latex table pdf tensorboard wandb weights",
    "flower.md": "flwr",
    "gym.md": "reinforcement learning rl agent environment gymnasium",
    "measure.md": "benchmark my board jetson raspberry pi power meter rapl tegrastats throttling profile",
    "metrics.md": "time to accuracy energy to accuracy convergence time speed-up jain fairness",
    "mobility.md": "gauss markov random waypoint speed velocity vehicle movement trajectory gps",
    "models.md": "pytorch model neural network cnn resnet own model fedper fedbn personal layers head lora adapters",
    "language-models.md": "llm lora llama gpt peft fine-tuning adapters language model",
    "partitions.md": "non-iid noniid iid heterogeneous data dirichlet label skew",
    "policies.md": "staleness asynchronous straggler stragglers deadline synchronous buffered semi-synchronous timeout",
    "python.md": "api notebook jupyter pandas",
    "reliability.md": "random seed determinism reproducibility",
    "report.md": "progress bar watch monitor dashboard",
    "reproductions/README.md": "reproduce paper replication published results",
    "resume.md": "checkpoint crash continue kill",
    "scenario.md": "yaml rounds file format syntax",
    "scope.md": "satellite vertical unlearning multi-job mesh gossip decentralised peer-to-peer limits roadmap",
    "selection.md": "client selection participants sampling scheduling scheduler fraction",
    "sweep-report.md": "confidence interval p-value statistics significance t-test error bars",
    "sweeps.md": "grid search hyper-parameter several seeds parallel",
    "reference/scenario/radio.md": "bandwidth frequency carrier noise",
    "reference/scenario/training.md": "learning rate lr batch size epochs momentum optimizer sgd weight decay",
    "reference/scenario/devices.md": "transmit power tx power number of clients cpu frequency",
    "reference/scenario/server.md": "participants deadline_s",
    "start/first-run.md": "first run begin beginner quickstart example",
    "start/install.md": "gpu cuda docker pip install requirements",
    "tasks/cluster.md": "slurm hpc parallel",
    "tasks/compare-methods.md": "compare algorithms baseline paper",
    "tasks/explain-a-result.md": "debug strange result bottleneck",
    "tasks/is-it-affordable.md": "run time runtime memory how long dry run cost of a round affordable afford ahead",
    "tasks/my-csv.md": "own data csv import file custom dataset",
    "tasks/scheduler.md": "scheduler own selection custom client selection",
    "tasks/sumo.md": "sumo vehicles cars traffic vanet fcd many",
    "tasks/why-slower.md": "slow slower why longer",
    "threats.md": "byzantine krum poisoning attack robust differential privacy dp epsilon secure aggregation secagg",
    "what-if.md": "cheaper without training",
    "your-own.md": "own algorithm custom algorithm plugin extend",
    "channel/maps.md": "drive test drive tests drive-test measured coverage ray tracing",
    "channel/traces.md": "sinr trace log recorded measured link",
    "channel/rates.md": "throughput data rate spectral efficiency",
    "testing-plugins.md": "unit test my plugin pytest check",
}
"""Words that newcomers type, by page."""


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Give a page its weight in the search and its words, and return its text as it is."""
    own = page.file.src_uri
    if own.startswith(COPIED) and not own.removeprefix(COPIED).split(".")[0].isupper():
        page.meta["search"] = {"exclude": True}
        return markdown
    boost = next(factor for beginning, factor in BOOSTS.items() if own.startswith(beginning))
    page.meta["search"] = {"boost": boost}
    words = WORDS.get(own, "").split()
    if own.startswith("reference/"):
        words += KEY.findall(markdown)
    if words:
        page.meta["tags"] = words
    return markdown
