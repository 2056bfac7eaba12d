"""Names of the client states that edgefl adds to those of the algorithm."""

OWN_STATISTICS = "statistics"  # a device's own batch normalisation, `training.batch_norm: local` or `parts.keep`
OWN_PARAMETERS = "own_parameters"  # a device's own part of the model, `training.parts.keep`
LAST_MODEL = "last_model"  # the model that a device's last training made, wanted by `report.models`
