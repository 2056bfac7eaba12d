"""What is trained: one file a family of models."""

from edgefl.catalogue import Catalogue
from edgefl.models.base import Model

MODELS: Catalogue[Model] = Catalogue(
    "model",
    {
        "logistic": "edgefl.models.logistic:Logistic",
        "mlp": "edgefl.models.fcn:Mlp",
        "fcn": "edgefl.models.fcn:Fcn",
        "lenet5": "edgefl.models.lenet:LeNet5",
        "lenet_femnist": "edgefl.models.lenet:LeNetFemnist",
        "cnn": "edgefl.models.cnn:Cnn",
        "cnn_mnist": "edgefl.models.cnn:CnnMnist",
        "cnn_femnist": "edgefl.models.cnn:CnnFemnist",
        "cnn_mifa": "edgefl.models.cnn:CnnMifa",
        "vgg9": "edgefl.models.vgg:Vgg9",
        "resnet20": "edgefl.models.resnet20:ResNet20",
        "resnet18": "edgefl.models.resnet:ResNet18",
        "resnet34": "edgefl.models.resnet:ResNet34",
        "resnet18_feat": "edgefl.models.resnet:ResNet18Feat",
        "resnet34_feat": "edgefl.models.resnet:ResNet34Feat",
        "svhn_cnn": "edgefl.models.svhn:SvhnCnn",
        "fasttext": "edgefl.models.fasttext:FastText",
        "din": "edgefl.models.din:Din",
        "quadratic": "edgefl.models.quadratic:QuadraticModel",
    },
    importer="edgefl.models.imported:imported",
)

__all__ = ["MODELS", "Model"]
