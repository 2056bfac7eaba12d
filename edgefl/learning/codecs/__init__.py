"""Codecs, which compress uploads: one file each."""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.codecs.base import Codec

CODECS: Catalogue[Codec] = Catalogue(
    noun="codec",
    members={
        "none": "edgefl.learning.codecs.none:NoCodec",
        "float16": "edgefl.learning.codecs.float16:Float16",
        "uniform": "edgefl.learning.codecs.uniform:UniformQuantiser",
        "qsgd": "edgefl.learning.codecs.qsgd:Qsgd",
        "top_k": "edgefl.learning.codecs.sparse:TopK",
        "random_k": "edgefl.learning.codecs.sparse:RandomK",
    },
    base=Codec,
    kind="codecs",
)

__all__ = ["CODECS", "Codec"]
