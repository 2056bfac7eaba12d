"""Made-up data with the columns of the datasets that Flower's examples load."""

import numpy as np

TITLES = ["Mr", "Mrs", "Miss", "Master", "Dr"]


def made_up(name):
    """Return the columns of each split of a named dataset."""
    if name not in MAKERS:
        raise FileNotFoundError(f"{name}: there is no stand-in for this dataset")
    maker, counts = MAKERS[name]
    return {split: maker(np.random.default_rng(seed), count) for seed, (split, count) in enumerate(counts.items())}


def pictures(column, *shape):
    """Return a maker of pictures of ten classes: noise, brighter for later classes."""

    def make(rng, count):
        labels = rng.integers(0, 10, count)
        noise = rng.integers(0, 100, (count, *shape))
        brightness = 15 * labels.reshape(-1, *[1] * len(shape))
        return {column: (noise + brightness).astype(np.uint8), "label": labels}

    return make


def iris(names, labels):
    """Return a maker of iris flowers: four lengths in centimetres and one of three species."""

    def make(rng, count):
        species = rng.integers(0, 3, count)
        lengths = rng.normal([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]], 0.2, (count, 3, 4))
        own = np.clip(lengths[np.arange(count), species], 0.1, 9.9)
        return {**dict(zip(names, own.T, strict=True)), labels[0]: np.asarray(labels[1])[species]}

    return make


def higgs(rng, count):
    """28 numbers of a collision, and whether it was a signal."""
    inputs = rng.normal(size=(count, 28)).astype(np.float32)
    return {"label": (inputs[:, 0] + inputs[:, 1] > 0).astype(np.float32), "inputs": inputs}


def adult(rng, count):
    """Six numbers and eight words about a person, and the income."""
    hours = rng.integers(10, 80, count)
    columns = {"age": rng.integers(17, 90, count)}
    for word in (
        "workclass",
        "education",
        "marital.status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native.country",
    ):
        columns[word] = rng.choice([f"{word} a", f"{word} b", f"{word} c"], count).astype(object)
    for number in ("fnlwgt", "education.num", "capital.gain", "capital.loss"):
        columns[number] = rng.integers(0, 1000, count)
    income = np.where(hours + rng.normal(0, 5, count) > 50, ">50K", "<=50K").astype(object)
    return {**columns, "hours.per.week": hours, "income": income}


def titanic(rng, count):
    """A passenger of the Titanic."""
    sex = rng.choice(["male", "female"], count)
    names = [f"{title}. Passenger {i}" for i, title in enumerate(rng.choice(TITLES, count))]
    return {
        "Survived": (rng.random(count) < np.where(sex == "female", 0.8, 0.2)).astype(int),
        "Pclass": rng.integers(1, 4, count),
        "Name": np.array(names, dtype=object),
        "Sex": sex.astype(object),
        "Age": rng.uniform(1, 80, count),
        "Siblings/Spouses Aboard": rng.integers(0, 4, count),
        "Parents/Children Aboard": rng.integers(0, 3, count),
        "Fare": rng.uniform(5, 100, count),
    }


SMALL = {"train": 2_000, "test": 200}
GREY = (pictures("image", 28, 28), SMALL)
MAKERS = {
    "uoft-cs/cifar10": (pictures("img", 32, 32, 3), SMALL),
    "ylecun/mnist": GREY,
    "mnist": GREY,
    "zalando-datasets/fashion_mnist": GREY,
    "hitorilabs/iris": (
        iris(["sepal_length", "sepal_width", "petal_length", "petal_width"], ("species", [0, 1, 2])),
        {"train": 150},
    ),
    "scikit-learn/iris": (
        iris(
            ["SepalLengthCm", "SepalWidthCm", "PetalLengthCm", "PetalWidthCm"],
            ("Species", ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]),
        ),
        {"train": 150},
    ),
    # An example moves 500,000 rows of the train split to the test split.
    "jxie/higgs": (higgs, {"train": 505_000, "test": 1_000}),
    "scikit-learn/adult-census-income": (adult, {"train": 1_000}),
    "julien-c/titanic-survival": (titanic, {"train": 300}),
}
