"""Models: what is trained; one file a family."""

from edgefl.core.catalogue import Adapter, Catalogue, members_of
from edgefl.learning.models.base import Model

MODELS: Catalogue[Model] = Catalogue(
    noun="model",
    members=members_of(__file__),
    base=Model,
    kind="models",
    adapter=Adapter("a class or function that makes a torch.nn.Module", "edgefl.learning.models.imported:imported"),
)

__all__ = ["MODELS", "Model"]
