"""Words and numbers that stand in YAML files beside the modules that read them."""

from functools import cache
from pathlib import Path
from typing import Any


@cache
def words_of(module: str, name: str) -> Any:
    """Return the content of a YAML file in the folder of a module, whose `__file__` is given."""
    import yaml  # late: most commands need no words

    return yaml.safe_load(Path(module).with_name(name).read_text(encoding="utf-8"))
