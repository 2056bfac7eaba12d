"""Scenarios beside modules of the user's own."""

import textwrap

import yaml

import edgefl
from edgefl.core.errors import InputError

PRICED = {"rounds": 3, "server": {"participants": 4}, "devices": {"count": 8}, "radio": {"bandwidth_hz": 1e6}}


def placed(scenario, key, value):
    """A copy of nested mappings with a value under a dotted key."""
    first, _, rest = key.partition(".")
    inner = value
    if rest:
        inner = placed(scenario.get(first) or {}, rest, value)
    return {**scenario, first: inner}


def written(folder, scenario, **modules):
    """The file of a scenario, beside modules of the user's own."""
    folder.mkdir(exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump(scenario))
    return file


def fault_of(file, **options):
    """Return the fault of a scenario's plug-in: the refusal of its run, or the error that has ended it."""
    try:
        result = edgefl.run(file, **options)
    except InputError as error:
        return str(error)
    assert result.status == "failed", "nothing was found"
    return result.error
