"""Codecs, which compress uploads: one file each."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.codecs.base import Codec

CODECS: Catalogue[Codec] = Catalogue(
    noun="codec",
    members=members_of(__file__),
    base=Codec,
    kind="codecs",
)

__all__ = ["CODECS", "Codec"]
