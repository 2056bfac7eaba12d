"""How uploads are compressed: one file a codec."""

from edgefl.catalogue import Catalogue
from edgefl.codecs.base import Codec

CODECS: Catalogue[Codec] = Catalogue(
    "codec",
    {
        "none": "edgefl.codecs.none:NoCodec",
        "float16": "edgefl.codecs.float16:Float16",
        "uniform": "edgefl.codecs.uniform:Uniform",
        "qsgd": "edgefl.codecs.qsgd:Qsgd",
        "top_k": "edgefl.codecs.sparse:TopK",
        "random_k": "edgefl.codecs.sparse:RandomK",
    },
)

__all__ = ["CODECS", "Codec"]
