"""Keys of a scenario as words, for axes, sliders and sentences."""

from edgefl.core.words import words_of
from edgefl.results.report.shared.describe import bare

WORDS: dict[str, str] = words_of(__file__, "key_words.yaml")


def in_words(key: str) -> str:
    """Return a dotted key in words, without the unit in its name: "transmit power" for `devices.tx_power_dbm`."""
    return WORDS.get(key.removesuffix(".kind"), bare(key))


def title(key: str) -> str:
    """Return a dotted key in words, as a title."""
    words = in_words(key)
    return words[:1].upper() + words[1:]
