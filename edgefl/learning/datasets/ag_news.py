"""AG News."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edgefl.core.errors import InputError
from edgefl.core.packed_files import read_unpacked
from edgefl.learning.datasets.base import Array, Arrays, Data, Dataset, find, help_of
from edgefl.learning.datasets.cache import cached

CLASSES = 4
TOKEN = re.compile(r"\w+|[^\w\s]")  # a word, or one punctuation mark
UNKNOWN = 1  # the id of words outside the vocabulary; 0 pads rows
COLUMNS = 3  # class, title, description
TRAIN = ("train.csv", "train.csv.gz", "ag_news_train.csv", "ag_news_train.csv.gz", "ag_news_train20k.csv.gz")
TEST = ("test.csv", "test.csv.gz", "ag_news_test.csv", "ag_news_test.csv.gz")
FOLDERS = ("ag_news_csv", "ag_news", "AG_NEWS")
HELP = help_of("ag_news")


class AgNews(Dataset):
    """AG News: 120,000 + 7,600 titles and first sentences of news in 4 classes (Zhang et al., NIPS 2015)."""

    length: Annotated[int, Field(ge=1, le=10_000)] = 64  # Number of tokens of a sample; longer texts are cut.
    # Number of token ids. 0 pads, 1 is unknown, and the others follow by frequency.
    vocabulary: Annotated[int, Field(ge=3, le=1_000_000)] = 30_522

    def defaults(self) -> dict[str, Any]:
        """Return the model that reads token ids."""
        return {"model": {"kind": "fasttext"}}

    def load(self) -> Data:
        """Return rows [length] of token ids: words in lower case and punctuation, counted in the training set."""
        named = [f"{folder}/{name}" for folder in FOLDERS for name in TRAIN[:2]]
        train = find(self.path, [*named, *TRAIN[2:]], HELP, TRAIN[:2], fetched_as="ag_news")
        tests = [train.with_name(name) for name in TEST]
        test = next((path for path in tests if path.exists()), None)
        if test is None:
            raise InputError(f"data.dataset: {train.parent}: holds {train.name}, but no {' or '.join(TEST)}. {HELP}")
        arrays = cached("ag_news", (self.length, self.vocabulary), [train, test], lambda: self._read(train, test))
        arrays.pop("words")  # no part of `Data`
        return Data(**arrays, classes=CLASSES)

    def _read(self, train: Path, test: Path) -> Arrays:
        """Read both sets as rows of ids, and the words in the order of their ids, from 2."""
        texts, train_y = read_csv(train)
        test_texts, test_y = read_csv(test)
        counts = Counter(token for text in texts for token in tokens(text))
        # Of equally frequent words the first by the alphabet, so that ids do not depend on the order of texts.
        words = sorted(counts, key=lambda word: (-counts[word], word))[: self.vocabulary - 2]
        ids = {word: number for number, word in enumerate(words, UNKNOWN + 1)}
        rows = {"train_x": _rows(texts, ids, self.length), "test_x": _rows(test_texts, ids, self.length)}
        return {**rows, "train_y": train_y, "test_y": test_y, "words": np.array(words)}


def tokens(text: str) -> list[str]:
    """Return words in lower case and punctuation marks, as BERT's uncased tokenizer first splits a text."""
    return TOKEN.findall(text.lower())


def _rows(texts: Iterable[str], ids: dict[str, int], length: int) -> Array:
    """Return the ids of each text, cut or padded with 0 to `length`."""
    rows = []
    for text in texts:
        row = [ids.get(token, UNKNOWN) for token in tokens(text)[:length]]
        padding = [0] * (length - len(row))
        rows.append(row + padding)
    return np.array(rows, dtype=np.int64)


def read_csv(path: Path) -> tuple[list[str], Array]:
    """Return title and description of each row as one text, and the classes from 0.

    Raises:
        InputError: there is no such file, or its rows are not class, title and description.
    """
    try:
        content = read_unpacked(path)
        # -sig drops the byte order mark that spreadsheets write; newline="" keeps line breaks within cells.
        table = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"data.dataset: {path}: is not a whole CSV file in UTF-8") from None
    # A class is a number, a header's first cell is not.
    has_header = bool(table and table[0]) and not table[0][0].strip().isdigit()
    begin = 1 if has_header else 0
    known = {str(label) for label in range(1, CLASSES + 1)}
    for number, row in enumerate(table[begin:], begin + 1):
        if len(row) != COLUMNS or row[0].strip() not in known:
            shown = ",".join(row)[:60]
            raise InputError(
                f"data.dataset: {path}: row {number}: must be class (1 to 4), title, description: {shown!r}"
            )
    if not table[begin:]:
        raise InputError(f"data.dataset: {path}: holds no rows")
    texts = [f"{title} {description}" for _, title, description in table[begin:]]
    return texts, np.array([int(row[0]) - 1 for row in table[begin:]], dtype=np.int64)
