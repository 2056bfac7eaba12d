"""A stand-in for the partitioners of `flwr_datasets` that Flower's examples use."""

import numpy as np


class Partitioner:
    """Divides the rows of its dataset; `rows` returns those of each partition."""

    dataset = None

    def load_partition(self, partition_id):
        return self.dataset.select(self.rows()[partition_id])


class SizePartitioner(Partitioner):
    """Partitions of sizes in proportion to a function of their numbers 1, 2, ..."""

    def __init__(self, num_partitions):
        self.num_partitions = num_partitions

    def rows(self):
        sizes = self.relative(np.arange(1, self.num_partitions + 1))
        ends = len(self.dataset) * np.cumsum(sizes) / np.sum(sizes)
        return np.split(np.arange(len(self.dataset)), ends[:-1].round().astype(int))


class IidPartitioner(SizePartitioner):
    relative = staticmethod(np.ones_like)


class LinearPartitioner(SizePartitioner):
    relative = staticmethod(np.positive)


class SquarePartitioner(SizePartitioner):
    relative = staticmethod(np.square)


class ExponentialPartitioner(SizePartitioner):
    relative = staticmethod(np.exp)


class DirichletPartitioner(Partitioner):
    """Each label is divided in shares that follow a Dirichlet distribution."""

    def __init__(self, num_partitions, partition_by, alpha, min_partition_size=10, seed=42):
        self.num_partitions = num_partitions
        self.partition_by = partition_by
        self.alpha = alpha
        self.min_partition_size = min_partition_size
        self.seed = seed

    def rows(self):
        rng = np.random.default_rng(self.seed)
        labels = self.dataset.columns[self.partition_by]
        while True:
            parts = [[] for _ in range(self.num_partitions)]
            for label in np.unique(labels):
                own = np.flatnonzero(labels == label)
                ends = np.cumsum(rng.dirichlet(np.full(self.num_partitions, self.alpha))) * len(own)
                for part, some in zip(parts, np.split(own, ends[:-1].astype(int)), strict=True):
                    part.extend(some)
            if min(map(len, parts)) >= self.min_partition_size:
                return parts


class NaturalIdPartitioner(Partitioner):
    """One partition for each value of a column."""

    def __init__(self, partition_by):
        self.partition_by = partition_by

    def rows(self):
        owners = self.dataset.columns[self.partition_by]
        return [np.flatnonzero(owners == owner) for owner in np.unique(owners)]


class VerticalSizePartitioner(Partitioner):
    """Partitions of columns; the active party's columns are one more, the last."""

    def __init__(self, partition_sizes, active_party_columns, active_party_columns_mode="create_as_last", seed=42):
        if active_party_columns_mode != "create_as_last":
            raise NotImplementedError(active_party_columns_mode)
        self.partition_sizes = partition_sizes
        self.active = [active_party_columns]
        self.seed = seed

    def load_partition(self, partition_id):
        others = [name for name in self.dataset.column_names if name not in self.active]
        np.random.default_rng(self.seed).shuffle(others)
        groups = np.split(np.array(others), np.cumsum(self.partition_sizes)[:-1])
        return self.dataset.select_columns([*(group.tolist() for group in groups), self.active][partition_id])
