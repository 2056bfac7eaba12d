"""MovieLens-1M as clicks to predict."""

import io
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.learning.datasets.base import Array, Arrays, Data, Dataset, find, generator, help_of
from edgefl.learning.datasets.cache import cached

USERS = 6040  # in ml-1m, numbered from 1
GENDERS = ("F", "M")
AGES = ("1", "18", "25", "35", "45", "50", "56")  # groups, by their first year
HELP = help_of("movielens")
PROFILE = 5  # user, gender, age, occupation, zip code
TEST_NEGATIVES = 99  # films among which a user's last one is ranked, as in the FedEve paper


class MovieLens(Dataset):
    """MovieLens-1M: would this user rate this film next? 6,040 users (Harper & Konstan 2015; as the FedEve paper)."""

    history: Annotated[int, Field(ge=1, le=1000)] = 20  # Number of the latest films that the user rated before.
    negatives: Annotated[int, Field(ge=1, le=100)] = 4  # Number of unrated films for each rated one in training.
    seed: NonNegativeInt = 0  # Seed of the draws of unrated films.

    def defaults(self) -> dict[str, Any]:
        """Return one device for each user, and the model that reads such rows."""
        return {
            "devices": {"count": USERS},
            "data": {"partition": {"kind": "natural"}},
            "model": {"kind": "din"},
        }

    def load(self) -> Data:
        """Return rows of ids: user, gender, age, occupation, zip code, film, and the history with zeros in front.

        Every rating counts as a click (label 1). A user's last one is for testing, with 99 films that the user never
        rated (label 0); each earlier one is for training, with `negatives` such films.
        """
        ratings = find(self.path, ["ml-1m/ratings.dat"], HELP, ["ratings.dat"], fetched_as="movielens")
        paths = [ratings, ratings.with_name("users.dat")]
        arrays = cached("movielens", (self.history, self.negatives, self.seed), paths, lambda: self._rows(*paths))
        # Each user has one film for testing and its negatives, and they stand user after user.
        test_owner = np.arange(len(arrays["test_y"])) // (1 + TEST_NEGATIVES)
        return Data(**arrays, classes=2, test_owner=test_owner, ranked=True)

    def _rows(self, ratings: Path, users: Path) -> Arrays:
        """Return all users' rows, user after user, in the order of their numbers."""
        clicks = read_ratings(ratings)
        profiles = read_users(users)
        films = np.unique(clicks[:, 1])
        numbers, counts = np.unique(clicks[:, 0], return_counts=True)
        if missing := set(numbers.tolist()) - set(profiles):
            raise InputError(f"data.dataset: {users}: lacks user {min(missing)}, who is in {ratings.name}")
        if counts.min() < 2:  # one to learn from, one for testing
            raise InputError(f"data.dataset: {ratings}: user {numbers[counts.argmin()]} has one rating, needed are two")
        width = PROFILE + 1 + self.history
        # Groups of a click and its negatives; flattened to rows at the end.
        train = np.empty((len(clicks) - len(numbers), 1 + self.negatives, width), np.int64)
        test = np.empty((len(numbers), 1 + TEST_NEGATIVES, width), np.int64)
        begins = np.concatenate([[0], np.cumsum(counts - 1)])  # of each user's clicks in `train`: all but the last
        for owner, seen in enumerate(np.split(clicks[:, 1], np.cumsum(counts)[:-1])):
            other = np.setdiff1d(films, seen)
            if len(other) < TEST_NEGATIVES:  # they are drawn without repetition
                what = f"user {numbers[owner]} left fewer than {TEST_NEGATIVES} films unrated"
                raise InputError(f"data.dataset: {ratings}: {what}")
            self._fill(
                train[begins[owner] : begins[owner + 1]],
                test[owner : owner + 1],
                profiles[int(numbers[owner])],
                seen,
                other,
                generator(self.seed, "movielens", owner),
            )
        return {
            "train_x": train.reshape(-1, width),
            "train_y": _labels(train.shape[:2]),
            "test_x": test.reshape(-1, width),
            "test_y": _labels(test.shape[:2]),
            "owner": np.repeat(np.arange(len(numbers)), (counts - 1) * (1 + self.negatives)),
        }

    def _fill(
        self, train: Array, test: Array, profile: Array, seen: Array, other: Array, rng: np.random.Generator
    ) -> None:
        """Fill in one user's rows [clicks, 1 + negatives, width], a click before its negatives, the last in `test`."""
        # A window that slides over the user's films: at each click those before it, zeros where there are too few.
        before = np.concatenate([np.zeros(self.history, np.int64), seen[:-1]])
        histories = np.lib.stride_tricks.sliding_window_view(before, self.history)[:, None]  # [clicks, 1, history]
        for rows, begin in ((train, 0), (test, len(train))):
            rows[..., :PROFILE] = profile
            rows[..., PROFILE + 1 :] = histories[begin : begin + len(rows)]
            rows[:, 0, PROFILE] = seen[begin : begin + len(rows)]
        train[:, 1:, PROFILE] = rng.choice(other, (len(train), self.negatives))
        test[0, 1:, PROFILE] = rng.choice(other, TEST_NEGATIVES, replace=False)


def _labels(shape: tuple[int, ...]) -> Array:
    """Return 1 for the first of each group and 0 for the others, flat."""
    labels = np.zeros(shape, np.int64)
    labels[:, 0] = 1
    return labels.ravel()


def read_ratings(path: Path) -> Array:
    """Return user and film of each rating [n, 2], by user, then time, then position in the file.

    Raises:
        InputError: there is no such file, or its rows are not user::film::rating::time.
    """
    try:
        # loadtxt takes separators of one character only.
        text = read_bytes(path).replace(b"::", b" ")
        # loadtxt only warns of an empty file; a word makes it an error like the others.
        rows = io.BytesIO(text if text.strip() else b"nothing")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no rows: refused below
            table = np.loadtxt(rows, dtype=np.int64, ndmin=2, comments=None)
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}. {HELP}") from None
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise InputError(f"data.dataset: {path}: is not user::film::rating::time ({problem}). {HELP}") from None
    if table.shape[1:] != (4,) or not len(table) or table[:, :2].min() < 1:
        raise InputError(f"data.dataset: {path}: must hold rows of user::film::rating::time, numbered from 1. {HELP}")
    # lexsort is stable: ratings of the same second keep their order in the file.
    return np.asarray(table[np.lexsort((table[:, 3], table[:, 0])), :2])


def read_users(path: Path) -> dict[int, Array]:
    """Return the profile [5] of each user: number, gender, age group, occupation and zip code as ids from 1.

    Raises:
        InputError: there is no such file, or its rows are not user::gender::age::occupation::zip code.
    """
    try:
        rows = [line.split("::") for line in read_bytes(path).decode("latin-1").splitlines()]
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}. {HELP}") from None
    # Ids from 1: 0 is the padding of histories.
    zips = {code: number for number, code in enumerate(sorted({row[-1] for row in rows}), 1)}
    profiles = {}
    for number, row in enumerate(rows, 1):
        try:
            user, gender, age, occupation, code = row
            ids = [int(user), 1 + GENDERS.index(gender), 1 + AGES.index(age), 1 + int(occupation), zips[code]]
        except ValueError:
            raise InputError(
                f"data.dataset: {path}:{number}: must be user::gender::age::occupation::zip code, as in ml-1m"
            ) from None
        profiles[ids[0]] = np.array(ids)
    return profiles
