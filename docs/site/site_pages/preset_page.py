"""The page of the presets: their files, which name the source of each number."""

from edgefl.scenario import presets
from site_pages.markdown_text import escaped, page
from site_pages.wide_code import fitted

OWN = "reference/presets.md"
INTRODUCTION = """\
`radio: {preset: nr}` and `devices: {preset: phone}` stand for the keys below. A key beside `preset` wins, also inside a
part of the same kind: `radio: {preset: nr, overhead: {uplink: 0.1}}` keeps the overhead of the downlink.
`battery: null` removes a preset's battery. The scenario in a result folder has all keys, so that later versions read it
alike. [What is modelled, and what is not](../realism.md).
"""
TITLES = {"radio": "Radios", "devices": "Devices"}


def pages() -> dict[str, str]:
    """Return the text of the page by its path in docs/."""
    parts = []
    for section in presets.SECTIONS:
        parts.append(f"## {TITLES[section]}: `{section}`")
        parts += [_preset(section, name) for name in presets.names(section)]
    return {OWN: page("Presets", INTRODUCTION, *parts)}


def _preset(section: str, name: str) -> str:
    """Return the description of a preset, and its keys: the lines of its file after the first."""
    about = escaped(presets.about(section, name))
    keys = presets.text(section, name).rstrip().partition("\n")[2]
    return f"### `{section}: {{preset: {name}}}`\n{about}\n\n```yaml\n{fitted(keys)}\n```"
