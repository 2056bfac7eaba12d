"""Models: what is trained; one file a family."""

from edgefl.core.catalogue import Adapter, Catalogue
from edgefl.learning.models.base import Model

MODELS: Catalogue[Model] = Catalogue(
    noun="model",
    members={
        "logistic": "edgefl.learning.models.logistic:Logistic",
        "mlp": "edgefl.learning.models.fcn:Mlp",
        "fcn": "edgefl.learning.models.fcn:Fcn",
        "lenet5": "edgefl.learning.models.cnn:LeNet5",
        "lenet_femnist": "edgefl.learning.models.cnn:LeNetFemnist",
        "cnn": "edgefl.learning.models.cnn:Cnn",
        "cnn_mnist": "edgefl.learning.models.cnn:CnnMnist",
        "cnn_femnist": "edgefl.learning.models.cnn:CnnFemnist",
        "cnn_mifa": "edgefl.learning.models.cnn:CnnMifa",
        "vgg9": "edgefl.learning.models.cnn:Vgg9",
        "resnet20": "edgefl.learning.models.resnet:ResNet20",
        "resnet18": "edgefl.learning.models.resnet:ResNet18",
        "resnet34": "edgefl.learning.models.resnet:ResNet34",
        "resnet18_feat": "edgefl.learning.models.resnet:ResNet18Feat",
        "resnet34_feat": "edgefl.learning.models.resnet:ResNet34Feat",
        "svhn_cnn": "edgefl.learning.models.cnn:SvhnCnn",
        "fasttext": "edgefl.learning.models.fasttext:FastText",
        "din": "edgefl.learning.models.din:Din",
        "llama": "edgefl.learning.models.llama:Llama",
        "quadratic": "edgefl.learning.models.quadratic:QuadraticModel",
    },
    base=Model,
    kind="models",
    adapter=Adapter("a class or function that makes a torch.nn.Module", "edgefl.learning.models.imported:imported"),
)

__all__ = ["MODELS", "Model"]
