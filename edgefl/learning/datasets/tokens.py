"""Rows of tokens of a made-up language, for language models."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt

from edgefl.learning.datasets.base import Array, Data, Dataset, generator

Size = Annotated[int, Field(ge=1, le=1_000_000)]
FACTOR = 31  # of a token in the number of its first successor
SHIFT = 17  # between the languages of two styles
TEST_SHARE = 10  # one row in so many is for testing


class Tokens(Dataset):
    """Rows of tokens, each drawn among a few successors of the token before it; the label is the next token.

    The best loss is `ln(branches)`, whatever the vocabulary: a language model's cost with any tokenizer, and a language
    that a small one learns.
    """

    vocabulary: Annotated[int, Field(ge=2, le=1_000_000)] = 64  # Number of tokens.
    length: Annotated[int, Field(ge=1, le=100_000)] = 32  # Tokens of a row.
    rows: Size = 20  # Rows of each device, and a tenth more for testing.
    branches: Size = 2  # Number of successors of a token, equally likely.
    styles: Size = 1  # Number of languages; owners have them in turn.
    owners: Annotated[int, Field(ge=1, le=100_000)] = 30  # Number of devices whose rows are drawn.
    seed: NonNegativeInt = 0  # Seed of the data, apart from the scenario's.

    def defaults(self) -> dict[str, Any]:
        """Return one device for each owner, and a small language model."""
        return {
            "devices": {"count": self.owners},
            "data": {"partition": {"kind": "natural"}},
            "model": {"kind": "llama"},
        }

    def load(self) -> Data:
        """Draw the rows of each owner."""
        test_rows = -(-self.rows // TEST_SHARE)
        texts = np.stack([self._text(owner, self.rows + test_rows) for owner in range(self.owners)])
        train = texts[:, : self.rows].reshape(-1, self.length + 1)
        test = texts[:, self.rows :].reshape(-1, self.length + 1)
        owners = np.arange(self.owners)
        return Data(
            train_x=train[:, :-1],
            train_y=train[:, 1:],
            test_x=test[:, :-1],
            test_y=test[:, 1:],
            classes=self.vocabulary,
            owner=np.repeat(owners, self.rows),
            test_owner=np.repeat(owners, test_rows),
        )

    def _text(self, owner: int, rows: int) -> Array:
        """Draw rows [rows, length + 1] of an owner: `next = 31 token + 17 style + j mod vocabulary`, j < branches."""
        rng = generator(self.seed, "tokens", owner)
        style = owner % self.styles
        text = np.empty((rows, self.length + 1), dtype=np.int64)
        text[:, 0] = rng.integers(self.vocabulary, size=rows)
        branch = rng.integers(self.branches, size=(rows, self.length))
        for place in range(self.length):
            following = FACTOR * text[:, place] + SHIFT * style + branch[:, place]
            text[:, place + 1] = following % self.vocabulary
        return text
