"""A stand-in for `flwr_datasets`: what Flower's examples call of it, with made-up data."""

from datasets import load_dataset

from flwr_datasets.partitioner import IidPartitioner


class FederatedDataset:
    """A made-up dataset, whose splits are divided by partitioners."""

    def __init__(self, *, dataset, partitioners, preprocessor=None, subset=None, shuffle=True, seed=42):
        self.parts = load_dataset(dataset, subset)
        if shuffle:
            self.parts = type(self.parts)({name: part.shuffle(seed) for name, part in self.parts.items()})
        if preprocessor is not None:
            self.parts = preprocessor(self.parts)
        self.partitioners = {}
        for split, given in partitioners.items():
            partitioner = IidPartitioner(given) if isinstance(given, int) else given
            partitioner.dataset = self.parts[split]
            self.partitioners[split] = partitioner

    def load_partition(self, partition_id, split=None):
        return self.partitioners[split or next(iter(self.partitioners))].load_partition(partition_id)

    def load_split(self, split):
        return self.parts[split]
