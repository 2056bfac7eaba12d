"""Datasets whose samples have owners: FEMNIST's writers, MovieLens' users, the devices of Synthetic(alpha, beta)."""

import json

import numpy as np
import pytest
from dataset_files import RNG, leaf, write
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from scipy.special import logsumexp

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets.femnist import Femnist
from edgefl.learning.datasets.movielens import AGES, MovieLens
from edgefl.learning.datasets.synthetic import Synthetic
from edgefl.learning.learner.ranking import ranking
from edgefl.learning.models.din import Din
from edgefl.scenario import load

pytestmark = pytest.mark.usefixtures("home")


def fails(dataset, *parts):
    """Loading fails with one line that has all the parts."""
    with pytest.raises(InputError) as caught:
        dataset.load()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("data.dataset: ")
    for part in parts:
        assert str(part) in str(caught.value)


# FEMNIST --------------------------------------------------------------------------------------------------------------


def drawn(count):
    return RNG.integers(0, 256, (count, 28, 28), dtype=np.uint8), RNG.integers(0, 62, count)


def write_femnist(folder):
    """Writers in two files a set, out of order; one has samples for testing only."""
    train = {"f0003_12": drawn(4), "f0001_41": drawn(2), "f0009_07": drawn(3)}
    test = {"f0009_07": drawn(1), "f0001_41": drawn(2), "f0005_00": drawn(1)}
    for part, users in (("train", train), ("test", test)):
        names = list(users)
        leaf(folder / part / "all_data_0.json", {name: users[name] for name in names[:2]})
        leaf(folder / part / "all_data_1.json", {name: users[name] for name in names[2:]} | {"f0099": drawn(0)})
    return train, test


@pytest.mark.parametrize("place", ["femnist", "femnist/data", "leaf/data/femnist/data", "."])
def test_femnist(tmp_path, place):
    """The pixels that LEAF divided by 255, ink bright; writers in the order of their names."""
    train, test = write_femnist(tmp_path / place)
    for _ in range(2):
        data = Femnist(path=tmp_path).load()
        for (x, y), users in (((data.train_x, data.train_y), train), ((data.test_x, data.test_y), test)):
            assert x.dtype == np.uint8
            assert np.array_equal(x, np.concatenate([users[name][0] for name in sorted(users)]))
            assert np.array_equal(y, np.concatenate([users[name][1] for name in sorted(users)]))
        assert data.owner.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]
        assert (data.owner.dtype, data.classes) == (np.int64, 62)


def user_data(x, y):
    return json.dumps({"users": ["a"], "num_samples": [1], "user_data": {"a": {"x": x, "y": y}}})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is not a whole file of LEAF's FEMNIST"),
        ("[]", "is not a whole file"),
        ('{"users": []}', "is not a whole file"),
        ('{"user_data": [1]}', "is not a whole file"),
        ('{"user_data": {"a": 1}}', "is not a whole file"),
        (user_data([[0.5] * 784], [62]), "y must be from 0 to 61"),
        (user_data([[0.5] * 784], [-1]), "y must be from 0 to 61"),
        (user_data([[0.5] * 784], [1.5]), "y must be from 0 to 61"),
        (user_data([[0.5] * 784], [1, 2]), "x must be 784 numbers from 0 to 1 for each of its 2 y"),
        (user_data([[0.5] * 783], [1]), "x must be 784 numbers"),
        (user_data([[255.0] * 784], [1]), "x must be 784 numbers"),
        (user_data([[float("nan")] * 784], [1]), "x must be 784 numbers"),
        (user_data([["a"] * 784], [1]), "is not a whole file"),
        (user_data([[0.5] * 784], [1])[:-9], "is not a whole file"),
        ("[" * 100_000, "is not a whole file"),
    ],
)
def test_damaged_femnist(tmp_path, content, reason):
    write_femnist(tmp_path / "femnist")
    path = write(tmp_path / "femnist" / "test" / "all_data_1.json", content)
    fails(Femnist(path=tmp_path), path, reason)


def test_missing_femnist(tmp_path):
    fails(Femnist(), ".cache/edgefl. Make it with LEAF")
    (tmp_path / "femnist" / "train").mkdir(parents=True)
    fails(Femnist(path=tmp_path), "femnist/train: holds no .json files")
    write_femnist(tmp_path / "femnist")
    leaf(tmp_path / "femnist" / "train" / "all_data_2.json", {"f0003_12": drawn(1)})
    fails(Femnist(path=tmp_path), "a writer is in two files")
    for path in (tmp_path / "femnist" / "train").iterdir():
        leaf(path, {})
    fails(Femnist(path=tmp_path), "femnist/train: holds no samples")


# MovieLens ------------------------------------------------------------------------------------------------------------

FILMS = 160
SEEN = {7: 12, 2: 3, 5: 2}  # ratings by user
BULK = (1, 8, 9)  # share all films among them


def ratings():
    """Rows (user, film, rating, time) in no order of time; films are 10, 20, ..."""
    rng = np.random.default_rng(1)
    rows = [(BULK[film % 3], 10 * film + 10, 3, time) for film, time in enumerate(rng.permutation(FILMS).tolist())]
    for user, count in SEEN.items():
        films, times = (rng.permutation(FILMS)[:count].tolist() for _ in range(2))
        rows += [(user, 10 * film + 10, 5, time) for film, time in zip(films, times, strict=True)]
    return rows


def users():
    return [
        (1, "F", 1, 10, "48067"),
        (2, "M", 56, 16, "70072"),
        (5, "M", 25, 20, "55117-1234"),
        (7, "F", 18, 0, "02460"),
        (8, "M", 35, 1, "48067"),
        (9, "F", 45, 7, "99999"),
    ]


def lines(rows):
    return "".join("::".join(str(value) for value in row) + "\n" for row in rows)


def write_movielens(folder, rows=None, profiles=None):
    write(folder / "ml-1m" / "ratings.dat", lines(rows or ratings()), "latin-1")
    write(folder / "ml-1m" / "users.dat", lines(profiles or users()), "latin-1")
    return folder


def test_movielens_rows(tmp_path):
    """Each rating but a user's last is a click with its history; what is not clicked was never rated."""
    rows = ratings()
    write_movielens(tmp_path, rows)
    data = MovieLens(path=tmp_path, history=4, negatives=3).load()
    assert data.shape == (5 + 1 + 4,)
    assert data.train_x.dtype == np.int64
    groups = data.train_x.reshape(-1, 4, 10)
    labels = data.train_y.reshape(-1, 4)
    tests = data.test_x.reshape(-1, 100, 10)
    test_labels = data.test_y.reshape(-1, 100)
    assert (labels == [1, 0, 0, 0]).all()
    assert (test_labels == [1] + [0] * 99).all()
    assert len(tests) == 6
    known = {10 * film + 10 for film in range(FILMS)}
    for owner, user in enumerate((1, 2, 5, 7, 8, 9)):
        films = [row[1] for row in sorted((row for row in rows if row[0] == user), key=lambda row: row[3])]
        mine = groups[data.owner.reshape(-1, 4)[:, 0] == owner]
        assert mine[:, 0, 5].tolist() == films[:-1]
        assert tests[owner, 0, 5] == films[-1]
        histories = [([0] * 4 + films[:place])[-4:] for place in range(len(films))]
        assert (mine[:, :, 6:] == np.array(histories[:-1])[:, None]).all()
        assert (tests[owner, :, 6:] == histories[-1]).all()
        never = known - set(films)
        assert set(mine[:, 1:, 5].ravel().tolist()) <= never
        assert len(set(tests[owner, 1:, 5].tolist()) & never) == 99
    assert (data.owner.reshape(-1, 4) == data.owner.reshape(-1, 4)[:, :1]).all()


def test_movielens_profiles(tmp_path):
    data = MovieLens(path=write_movielens(tmp_path)).load()
    profiles = [data.train_x[data.owner == owner][:, :5] for owner in range(6)]
    expected = [[1, 1, 1, 11, 2], [2, 2, 7, 17, 4], [5, 2, 3, 21, 3], [7, 1, 2, 1, 1], [8, 2, 4, 2, 2], [9, 1, 5, 8, 5]]
    assert [profile[0].tolist() for profile in profiles] == expected
    assert all((profile == profile[0]).all() for profile in profiles)
    assert len(AGES) == 7
    assert Din().misfit(data.train_x, data.classes) is None
    assert Din().misfit(data.test_x, data.classes) is None


@pytest.mark.oracle
def test_movielens_is_ranked_user_by_user(tmp_path):
    """The columns of a run, against the final model's logits by plain torch."""
    torch = pytest.importorskip("torch")
    keys = {
        "rounds": 3,
        "data": {"dataset": "movielens", "path": str(write_movielens(tmp_path)), "history": 4},
        "devices": {"count": 6},
        "training": {"local_epochs": 1, "lr": 0.5, "engine": "serial"},
        "report": {"eval_every": 2},
    }
    result = edgefl.run(keys)
    data = MovieLens(path=tmp_path, history=4).load()
    assert data.test_owner.tolist() == np.repeat(range(6), 100).tolist()
    module = Din().module(data.shape, 2)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(result.parameters), module.parameters())
    with torch.no_grad():
        logits = module(torch.from_numpy(data.test_x)).numpy()
    expected = ranking(logits, data.test_y == 1, data.test_owner)
    assert list(expected) == ["test_auc", "hr_5", "ndcg_5", "hr_10", "ndcg_10"]
    assert result.rounds.loc[2, list(expected)].tolist() == pytest.approx(list(expected.values()), rel=1e-3)
    assert result.rounds["test_auc"].notna().tolist() == [False, True, True]


def test_movielens_depends_on_its_seed_and_not_on_the_order_of_lines(tmp_path):
    first = MovieLens(path=write_movielens(tmp_path / "a")).load()
    again = MovieLens(path=write_movielens(tmp_path / "b", ratings()[::-1], users()[::-1])).load()
    other = MovieLens(path=tmp_path / "a", seed=1).load()
    assert np.array_equal(first.train_x, again.train_x)
    assert np.array_equal(first.test_x, again.test_x)
    assert not np.array_equal(first.train_x, other.train_x)
    clicked = first.train_y == 1
    assert np.array_equal(first.train_x[clicked], other.train_x[clicked])


def test_movielens_negatives_are_even(tmp_path):
    data = MovieLens(path=write_movielens(tmp_path), negatives=100).load()
    drawn = data.train_x[(data.owner == 0) & (data.train_y == 0), 5]
    counts = np.unique(drawn, return_counts=True)[1]
    assert len(counts) == FILMS - FILMS // 3 - 1
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("ratings.dat", "", "is not user::film::rating::time"),
        ("ratings.dat", "1::2::3\n", "must hold rows of user::film::rating::time"),
        ("ratings.dat", "1::2::3::4\n1::2\n", "is not user::film::rating::time"),
        ("ratings.dat", "1::2::3::x\n", "is not user::film::rating::time"),
        ("ratings.dat", "0::2::3::4\n", "must hold rows of"),
        ("ratings.dat", "1::1::3::4\n99::2::3::4\n", "users.dat: lacks user 99, who is in ratings.dat"),
        ("ratings.dat", "1::1::3::4\n", "user 1 has one rating, needed are two"),
        ("ratings.dat", "1::1::3::4\n1::2::3::4\n", "user 1 left fewer than 99 films unrated"),
        ("users.dat", "", "users.dat: lacks user 1"),
        ("users.dat", "1::F::1::10\n", ":1: must be user::gender::age::occupation::zip code"),
        ("users.dat", lines(users()) + "9::X::1::10::1\n", ":7: must be user::gender"),
        ("users.dat", "1::F::2::10::1\n", ":1: must be user::gender"),
        ("users.dat", "a::F::1::10::1\n", ":1: must be user::gender"),
    ],
)
def test_damaged_movielens(tmp_path, name, content, reason):
    write_movielens(tmp_path)
    write(tmp_path / "ml-1m" / name, content)
    fails(MovieLens(path=tmp_path), tmp_path / "ml-1m", reason)


def test_missing_movielens(tmp_path):
    fails(MovieLens(), "not found in", "ml-1m.zip", "ml-1m/users.dat")
    write_movielens(tmp_path)
    (tmp_path / "ml-1m" / "users.dat").unlink()
    fails(MovieLens(path=tmp_path / "ml-1m"), "users.dat: No such file")


# Synthetic ------------------------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(owners=st.integers(1, 8), features=st.integers(2, 9), classes=st.integers(2, 5), seed=st.integers(0, 99))
def test_synthetic_owners_hold_nine_tenths(owners, features, classes, seed):
    data = Synthetic(owners=owners, features=features, classes=classes, seed=seed).load()
    counts = np.bincount(data.owner)
    assert len(counts) == owners
    assert counts.min() >= 45
    assert (np.diff(data.owner) >= 0).all()
    assert len(data.owner) == len(data.train_x) == len(data.train_y)
    assert 0 <= len(data.test_y) - sum(-(-count // 9) for count in counts.tolist()) <= owners  # a tenth, rounded up
    assert data.train_y.max() < classes
    assert (data.train_x.dtype, data.shape, data.dtype) == (np.float32, (features,), "float32")


def test_a_synthetic_device_does_not_depend_on_the_population():
    few = Synthetic(owners=3).load()
    many = Synthetic(owners=9).load()
    other = Synthetic(owners=3, seed=1).load()
    mine = many.owner < 3
    assert np.array_equal(few.train_x, many.train_x[mine])
    assert np.array_equal(few.train_y, many.train_y[mine])
    assert not np.array_equal(few.train_x[:9], other.train_x[:9])


def samples(data):
    """Training samples by owner."""
    return [data.train_x[data.owner == owner] for owner in range(data.owner.max() + 1)]


@pytest.mark.oracle
@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_synthetic_inputs_follow_their_law(beta):
    """Over devices, centers B ~ N(0, beta^2) and means v ~ N(B, 1); inside, variances j^-1.2 (3 to 4 sigma)."""
    owners = 600
    features = 30
    parts = samples(Synthetic(beta=beta, owners=owners, features=features).load())
    noise = np.arange(1, features + 1) ** -1.2
    inside = sum(((x - x.mean(0)) ** 2).sum(0) for x in parts) / sum(len(x) - 1 for x in parts)
    assert inside == pytest.approx(noise, rel=0.03)
    means = np.stack([x.mean(0) for x in parts])
    error = noise[None] / np.array([[len(x)] for x in parts])  # of the mean of each device's samples
    assert ((means - means.mean(1, keepdims=True)) ** 2 - error).mean() * features / (features - 1) == pytest.approx(
        1, rel=0.05
    )
    centers = means.mean(1)
    assert centers.var() - (1 + error.mean()) / features == pytest.approx(beta**2, rel=0.25, abs=0.01)


def test_synthetic_sizes_follow_their_law():
    data = Synthetic(owners=800, features=2).load()
    sizes = np.bincount(data.owner) / 0.9 - 50
    assert np.median(np.log(sizes.clip(1))) == pytest.approx(4, abs=0.3)  # 4 sigma; 9/10 and whole numbers blur little
    assert np.quantile(np.log(sizes.clip(1)), 0.8413) == pytest.approx(6, abs=0.5)


def agreement(data):
    """Return the share of samples that a linear classifier gets right if the other half of the devices taught it."""
    half = data.owner < (data.owner.max() + 1) / 2
    weights = multinomial_regression(data.train_x[half], data.train_y[half])
    guessed = np.argmax(with_bias(data.train_x[~half]) @ weights, axis=1)
    return np.mean(guessed == data.train_y[~half])


def with_bias(x):
    return np.column_stack([x, np.ones(len(x))])


def multinomial_regression(x, y, penalty=1e-3):
    """Weights [features + 1, classes] of the penalised maximum likelihood, by L-BFGS."""
    inputs = with_bias(np.asarray(x, dtype=np.float64))
    shape = (inputs.shape[1], y.max() + 1)
    targets = np.eye(shape[1])[y]

    def loss_and_gradient(flat):
        weights = flat.reshape(shape)
        scores = inputs @ weights
        log_probabilities = scores - logsumexp(scores, axis=1, keepdims=True)
        loss = -np.sum(targets * log_probabilities) + 0.5 * penalty * np.sum(weights**2)
        gradient = inputs.T @ (np.exp(log_probabilities) - targets) + penalty * weights
        return loss, gradient.ravel()

    found = minimize(loss_and_gradient, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return found.x.reshape(shape)


@pytest.mark.oracle
def test_synthetic_classifiers():
    """All devices of the IID one have one linear classifier; of the other, each has its own."""
    small = {"owners": 10, "features": 6, "classes": 4, "seed": 3}
    assert agreement(Synthetic(iid=True, **small).load()) > 0.97
    assert agreement(Synthetic(alpha=0.0, beta=0.0, **small).load()) < 0.7


def test_a_shift_of_all_weights_does_not_move_labels():
    """The paper's alpha shifts a device's weights alike in all classes, which changes no argmax."""
    none, much = (Synthetic(alpha=alpha, owners=5).load() for alpha in (0.0, 3.0))
    assert np.array_equal(none.train_x, much.train_x)
    assert np.array_equal(none.train_y, much.train_y)


def test_owners_imply_defaults_of_the_scenario():
    """A device an owner, and a model that reads the rows, unless the scenario says otherwise."""
    beside = {"partition": {"kind": "iid"}}
    scenario = load({"data": {"dataset": "synthetic", "owners": 7, "alpha": 0.5, **beside}})
    assert (scenario.devices.count, type(scenario.model).__name__) == (7, "Logistic")
    scenario = load({"data": {"dataset": "movielens", **beside}, "devices": {"count": 9}})
    assert (scenario.devices.count, type(scenario.model).__name__) == (9, "Din")
    for dataset in (Synthetic(), MovieLens(), Femnist()):
        assert dataset.defaults()["data"] == {"partition": {"kind": "natural"}}
