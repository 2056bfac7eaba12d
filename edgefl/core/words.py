"""Words and numbers that stand in YAML and CSV files beside the modules that read them."""

import csv
from functools import cache
from pathlib import Path
from typing import Any


@cache
def words_of(module: str, name: str) -> Any:
    """Return the content of a YAML file in the folder of a module, whose `__file__` is given."""
    import yaml  # late: most commands need no words

    return yaml.safe_load(Path(module).with_name(name).read_text(encoding="utf-8"))


@cache
def table_of(module: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file in the folder of a module, whose `__file__` is given: cells by their columns."""
    with Path(module).with_name(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
