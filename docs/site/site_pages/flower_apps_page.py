"""The page `docs/flower-apps.md`: what Flower's example apps do in an emulated world."""

from pathlib import Path
from typing import Any

import yaml

KNOWN = Path("tests/cases/flower_examples.yaml")
INTRODUCTION = """\
# Flower's example apps

Examples of [Flower's repository]({repository}) and templates of `flwr new` in an emulated world, unmodified, on {date}
with flwr {flwr}: {runs} of {count} run. The others need a library that was not there, or have the older interface.

Only the data are made up, as nothing is downloaded: [stand-ins](../tests/cases/stand_in_datasets/README.md) for
`datasets` and `flwr_datasets` have the columns of each dataset and few rows. Weights & Biases records offline.

```bash
git clone --depth 1 {repository}
python -m tests.cases.flower_examples flower/examples    # all, or some by their names
EDGEFL_FLOWER_EXAMPLES=flower/examples pytest -m slow tests/flower/test_example_apps.py
```

"""
OUTRO = """
*0 operations*: the app computes with another library than torch, so its computing takes no time, with a warning; let
`model.cost` and `--operations world` price it ([Flower apps](flower.md#what-is-priced)).

The examples were taken file by file from copies of the repository's history, not from one clone: the commit is that of
`pyproject.toml`. Templates are those of flwr {templates}. The libraries were {libraries}.

Not tried: examples that download a model (FlowerTune, Whisper, ViT, LeRobot, FedRAG, MONAI, Hugging Face), ask a
database (federated-analytics), read data that a node's configuration names (embedded-devices, and for authentication),
have no ServerApp (decentralized), need TensorFlow, MLX or fastai, or had files missing in the copies (app-pytorch,
custom-mods, federated-vae, fl-dp-sa).
"""


def text(root: Path) -> str:
    """Return the text of the page, from what is known about each app in a file of the repository at `root`."""
    known: dict[str, Any] = yaml.safe_load((root / KNOWN).read_text(encoding="utf-8"))
    apps = known["apps"]
    introduction = INTRODUCTION.format(
        repository=known["repository"],
        date=known["date"],
        flwr=known["flwr"],
        runs=sum(app["outcome"] == "runs" for app in apps),
        count=len(apps),
    )
    lines = ["| app | commit | outcome | remark |", "|---|---|---|---|"]
    for app in apps:
        commit = app.get("commit", "")
        lines.append(f"| {app['app']} | {commit and f'`{commit}`'} | {app['outcome']} | {app.get('remark', '')} |")
    outro = OUTRO.format(libraries=known["libraries"], templates=known["templates"])
    return introduction + "\n".join(lines) + "\n" + outro
