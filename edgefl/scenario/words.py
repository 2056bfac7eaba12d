"""Words and numbers of messages, which stand in YAML files beside this one."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def words_of(file: str) -> Any:
    """Return the content of a file of this folder."""
    return yaml.safe_load(Path(__file__).with_name(file).read_text(encoding="utf-8"))
