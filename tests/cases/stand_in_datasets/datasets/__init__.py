"""A stand-in for Hugging Face's `datasets`: what Flower's examples call of it, with made-up data."""

import numpy as np

from datasets.made_up import made_up


class Dataset:
    """Columns of equal length, with the formats and transforms of Hugging Face's datasets."""

    def __init__(self, columns, kind=None, transform=None):
        self.columns = {name: np.asarray(values) for name, values in columns.items()}
        self.kind = kind  # None, "numpy", "pandas", "torch", "jax"
        self.transform = transform

    @classmethod
    def from_dict(cls, columns):
        return cls(columns)

    @classmethod
    def from_pandas(cls, frame):
        return cls({str(name): frame[name].to_numpy() for name in frame.columns})

    @property
    def column_names(self):
        return list(self.columns)

    @property
    def num_rows(self):
        return len(self)

    @property
    def shape(self):
        return len(self), len(self.columns)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __iter__(self):
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._batch(slice(None))[key]
        if isinstance(key, int | np.integer):
            batch = self._batch([key])
            return batch if self.kind == "pandas" else {name: values[0] for name, values in batch.items()}
        return self._batch(key)

    def __getitems__(self, rows):
        """Return some rows, a mapping each: a data loader of torch asks for a batch so."""
        batch = self._batch(rows)
        return [{name: values[i] for name, values in batch.items()} for i in range(len(rows))]

    def _batch(self, rows):
        some = {name: values[rows] for name, values in self.columns.items()}
        if self.transform is not None:
            return self.transform({name: _plain(values) for name, values in some.items()})
        if self.kind == "pandas":
            import pandas as pd

            return pd.DataFrame({name: list(values) for name, values in some.items()})
        if self.kind is not None:
            return some
        return {name: _plain(values) for name, values in some.items()}

    def select(self, rows):
        columns = {name: values[np.asarray(rows, dtype=int)] for name, values in self.columns.items()}
        return Dataset(columns, self.kind, self.transform)

    def select_columns(self, names):
        return Dataset({name: self.columns[name] for name in names}, self.kind, self.transform)

    def shuffle(self, seed=None):
        return self.select(_chance(seed).permutation(len(self)))

    def train_test_split(self, test_size=None, train_size=None, seed=None, *, shuffle=True):
        order = np.arange(len(self))
        if shuffle:
            _chance(seed).shuffle(order)
        share = 1 - train_size if test_size is None else test_size
        count = share if isinstance(share, int) else int(np.ceil(share * len(self)))
        parts = {"train": order[: len(self) - count], "test": order[len(self) - count :]}
        return DatasetDict({name: self.select(rows) for name, rows in parts.items()})

    def with_transform(self, transform):
        return Dataset(self.columns, None, transform)

    def with_format(self, kind=None):
        return Dataset(self.columns, kind)

    def set_format(self, kind=None):
        self.kind = kind
        self.transform = None

    def to_pandas(self):
        return self.with_format("pandas")[:]

    def batch(self, batch_size, *, drop_last_batch=False, num_proc=None):
        count = len(self) // batch_size if drop_last_batch else -(-len(self) // batch_size)
        rows = [slice(i * batch_size, (i + 1) * batch_size) for i in range(count)]
        columns = {}
        for name, values in self.columns.items():
            column = np.empty(count, dtype=object)
            for i, some in enumerate(rows):
                column[i] = values[some]
            columns[name] = column
        return Dataset(columns, self.kind)


class DatasetDict(dict):
    """Datasets by the names of their splits."""

    def with_transform(self, transform):
        return DatasetDict({name: part.with_transform(transform) for name, part in self.items()})

    def with_format(self, kind=None):
        return DatasetDict({name: part.with_format(kind) for name, part in self.items()})


def _plain(values):
    """Return values as an app without a format sees them: numbers of Python, pictures of Pillow."""
    if values.dtype == np.uint8 and values.ndim >= 3:
        from PIL import Image

        return [Image.fromarray(picture) for picture in values]
    if values.dtype == object:
        return list(values)
    return values.tolist()


def _chance(seed):
    """Return a generator; without a seed it follows from NumPy's global one, as in Hugging Face's datasets."""
    return np.random.default_rng(np.random.randint(2**31) if seed is None else seed)  # noqa: NPY002


def load_dataset(name, subset=None, split=None):
    """Return a made-up dataset with the columns of the named one: a split, or all by their names."""
    parts = DatasetDict({part: Dataset(columns) for part, columns in made_up(name).items()})
    return parts if split is None else parts[split]


def concatenate_datasets(parts):
    """Return the rows of all."""
    names = parts[0].column_names
    return Dataset({name: np.concatenate([part.columns[name] for part in parts]) for name in names})
