"""Write a scenario as YAML that loads as the same scenario."""

from functools import lru_cache

import yaml

from edgefl.core.written_yaml import NotYaml
from edgefl.scenario.scenario import Scenario
from edgefl.scenario.yaml_reader import parse


def dump(scenario: Scenario) -> str:
    """Return the complete scenario as YAML, every default filled in; loading it gives the same scenario."""
    return str(yaml.dump(scenario.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False, allow_unicode=True))


class _Dumper(yaml.SafeDumper):
    """Quotes text that is a number in YAML 1.2, but not in YAML 1.1, such as 0E0."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))


@lru_cache(maxsize=4096)
def _style(text: str) -> str | None:
    """Return the quotes that a text needs; None if PyYAML decides; cached for the points of sweeps."""
    try:
        if not isinstance(parse(text)[0], str):
            return '"'
    except NotYaml:
        pass  # PyYAML quotes such a text anyway
    return None


_Dumper.add_representer(str, _text)
