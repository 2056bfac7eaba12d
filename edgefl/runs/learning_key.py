"""The learning key of a run: runs with the same key and the same commands learn the same.

Resumed runs and sweeps that share learning rely on it. Radio, cells and movement are not in the key, as they affect
learning only through the commands.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np

from edgefl.core.catalogue import plugins_in
from edgefl.core.version import edgefl_version
from edgefl.learning.algorithms import ALGORITHMS, properties
from edgefl.learning.schedules import SCHEDULES
from edgefl.learning.torch_device import gpu_names
from edgefl.runs.data_division import Divided
from edgefl.scenario import Scenario

# Sections of a scenario on which learning depends, besides the commands.
LEARNING_SECTIONS = ("seed", "rounds", "sessions", "data", "model", "training", "algorithm", "churn", "report")

PROBED_ROUNDS = 10_000  # of a schedule
DATA_KEYS = ("count", "share", "data_share")  # of devices or groups, on which their data depend

Processor = Mapping[str, str]  # see `core.machine.processor`


def learning_key(
    scenario: Scenario, device: str, processors: Sequence[Processor], divided: Divided, probabilities: list[float]
) -> str:
    """Return a digest of everything on which learning depends besides the commands.

    The `processors` begin with this machine's; `probabilities` [devices] are those of being present in a round.
    """
    versions = [edgefl_version(), version("torch"), version("numpy")]
    place = [device, gpu_names(device), *processors]
    setting = [versions, place, probabilities, learning_setting(scenario), divided.data.digest]
    digest = hashlib.sha256(json.dumps(setting).encode())
    arrays = [*divided.parts, *(divided.test_parts or ())]
    if divided.validation is not None:
        arrays.append(divided.validation)
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def rounds_matter(scenario: Scenario) -> str | None:
    """Return the key that makes a round's learning depend on the number of rounds; None without one."""
    if properties.depends_on_rounds(scenario.learning):
        return f"algorithm: {ALGORITHMS.name_of(scenario.algorithm)}"
    schedule = scenario.training.lr_schedule
    rounds = scenario.in_sessions.rounds
    for index in range(min(rounds, PROBED_ROUNDS)):
        if schedule.factor(index, rounds) != schedule.factor(index, 2 * rounds + 1):
            return f"training.lr_schedule: {SCHEDULES.name_of(schedule)}"
    return None


def learning_setting(scenario: Scenario) -> str:
    """Return the parts of a scenario on which learning depends, as text; runs with equal texts share learning."""
    content = scenario.model_dump(mode="json")
    policy = scenario.server.policy
    edges = None
    if policy.edge_models:  # base stations have models, so their number matters
        edges = len(scenario.cells.sites_m)
    devices = content["devices"]
    content["model"]["cost"] = None  # only a price
    content["report"].pop("what_if", None)  # priced after learning
    if rounds_matter(scenario) is None:  # a longer run begins like a shorter one
        content["rounds"] = None
        if content["sessions"] is not None:
            content["sessions"] |= {"count": None, "rounds": None}
    setting = {
        "devices": [[group.get(key) for key in DATA_KEYS] for group in (devices, *devices["groups"])],
        "participants": scenario.participants,
        "selection": content["server"]["selection"],
        "split": policy.cut_layer,
        "edges": edges,
        "groups": [group.name for group in scenario.devices.groups],
        **{name: content[name] for name in LEARNING_SECTIONS},
    }
    digests = [(plugin.path, plugin.sha256()) for plugin in plugins_in(scenario) if _concerns_learning(plugin.key)]
    if digests:
        setting["plugins"] = digests
    return json.dumps(setting, sort_keys=True)


def _concerns_learning(key: str) -> bool:
    return key.partition(".")[0] in LEARNING_SECTIONS or key == "server.selection"
