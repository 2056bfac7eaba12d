"""AG News: rows of token ids from CSV files in all their spellings."""

import gzip

import numpy as np
import pytest
from dataset_files import write

from edgefl.core.errors import InputError
from edgefl.learning.datasets.ag_news import AgNews, tokens
from edgefl.learning.models.fasttext import FastText

pytestmark = pytest.mark.usefixtures("home")

ROWS = [
    (1, "Oil, oil", 'He said "no" to oil.'),
    (2, "Köln wins", "A game, in the\nrain"),
    (3, "Banks", "no no"),
    (4, "", ""),
]
TEXTS = [
    ["oil", ",", "oil", "he", "said", '"', "no", '"', "to", "oil", "."],
    ["köln", "wins", "a", "game", ",", "in", "the", "rain"],
    ["banks", "no", "no"],
    [],
]
HEADER = "class_index,title,description\n"


def csv_text(rows=ROWS, *, quoted=False):
    cells = ('"{}"'.format(str(value).replace('"', '""')) for row in rows for value in row)
    if quoted:
        return "".join(",".join(row) + "\n" for row in zip(*[cells] * 3, strict=True))
    return "".join(f"{label},{next(title)},{next(title)}\n" for label, *_ in rows for title in [_texts(rows, label)])


def _texts(rows, label):
    return iter('"{}"'.format(text.replace('"', '""')) for row in rows if row[0] == label for text in row[1:])


def write_both(folder, train="train.csv", test="test.csv", text=None):
    write(folder / train, text or csv_text())
    write(folder / test, csv_text(ROWS[:2], quoted=True))
    return folder


@pytest.mark.parametrize(
    ("place", "train", "test", "text"),
    [
        ("ag_news_csv", "train.csv", "test.csv", csv_text()),
        ("AG_NEWS", "train.csv.gz", "test.csv", HEADER + csv_text()),
        (".", "ag_news_train.csv", "ag_news_test.csv.gz", "\ufeff" + csv_text(quoted=True)),
        (".", "ag_news_train20k.csv.gz", "ag_news_test.csv.gz", csv_text()),
    ],
)
def test_rows_of_ids(tmp_path, place, train, test, text):
    """Ids from 2 by frequency, then alphabet, in the training set; 0 fills up, 1 is unknown; the rest is cut."""
    write_both(tmp_path / place, train, test, text)
    for _ in range(2):  # read, then from the cache
        data = AgNews(path=tmp_path, length=9, vocabulary=8).load()
        order = ["no", "oil", '"', ",", ".", "a"]  # 3, 3, 2, 2, then once each
        ids = [[order.index(word) + 2 if word in order else 1 for word in text[:9]] for text in TEXTS]
        rows = [row + [0] * (9 - len(row)) for row in ids]
        assert data.train_x.tolist() == rows
        assert data.test_x.tolist() == rows[:2]
        assert data.train_y.tolist() == [0, 1, 2, 3]
        assert data.test_y.tolist() == [0, 1]
        assert (data.classes, data.train_x.dtype, data.owner) == (4, np.int64, None)


def test_the_folder_itself(tmp_path):
    assert AgNews(path=write_both(tmp_path)).load().shape == (64,)
    assert AgNews(path=tmp_path / "train.csv").load().shape == (64,)


def test_test_words_do_not_count(tmp_path):
    write(tmp_path / "train.csv", '1,"a","b"\n')
    write(tmp_path / "test.csv", '1,"c","a c c c"\n')
    data = AgNews(path=tmp_path, length=6).load()
    assert data.train_x.tolist() == [[2, 3, 0, 0, 0, 0]]
    assert data.test_x.tolist() == [[1, 2, 1, 1, 1, 0]]


def test_tokens():
    assert " ".join(tokens("It's U.S. #39;s 3.5%")) == "it ' s u . s . # 39 ; s 3 . 5 %"


@pytest.mark.slow  # files of a few lines are read above
def test_real_files(data_folder, monkeypatch):
    """Whole files, read as the model expects; the nearest tf-idf centroid is right as often as their makers found."""
    monkeypatch.setenv("EDGEFL_DATA", str(data_folder))
    data = AgNews().load()
    assert (data.train_x.shape, data.test_x.shape) == ((20_000, 64), (7_600, 64))
    assert np.bincount(data.train_y).tolist() == [5_000] * 4
    assert np.bincount(data.test_y).tolist() == [1_900] * 4
    assert FastText().misfit(data.train_x, data.classes) is None
    assert data.train_x.max() == 30_521
    seen = np.bincount(data.train_x.ravel())[2:200]
    assert seen.min() > seen.max() / 1000  # frequent words have small ids, and 64 tokens hold nearly all of a text
    assert (data.test_x == 1).mean() < 0.02

    def weights(rows, idf):
        counts = np.zeros((len(rows), 30_522), np.float32)
        np.add.at(counts, (np.repeat(np.arange(len(rows)), 64), rows.ravel()), 1)
        counts[:, :2] = 0
        counts *= idf
        return counts / np.linalg.norm(counts, axis=1, keepdims=True).clip(1e-9)

    train = np.arange(0, 20_000, 5)
    test = np.arange(0, 7_600, 5)
    present = np.bincount(np.concatenate([np.unique(row) for row in data.train_x[train]]), minlength=30_522)
    idf = np.log(len(train) / (1 + present)).astype(np.float32)
    x = weights(data.train_x[train], idf)
    means = np.stack([x[data.train_y[train] == label].mean(0) for label in range(4)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = (weights(data.test_x[test], idf) @ means.T).argmax(1)
    assert (nearest == data.test_y[test]).mean() == pytest.approx(0.855, abs=0.04)  # 1,520 samples, a fifth to train on


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "holds no rows"),
        (HEADER.encode(), "holds no rows"),
        (b'1,"a"\n', "row 1: must be class (1 to 4), title, description: '1,a'"),
        (b'1,"a","b"\n5,"a","b"\n', "row 2: must be class"),
        (b'1,"a","b"\n0,"a","b"\n', "row 2: must be class"),
        (b'1,"a","b"\nx,"a","b"\n', "row 2: must be class"),
        (b'1,"a","b', "is not a whole CSV file in UTF-8"),
        (b'1,"\xff","b"\n', "is not a whole CSV file in UTF-8"),
        (b'1,"' + b"a" * 200_000 + b'","b"\n', "is not a whole CSV file in UTF-8"),
    ],
)
def test_wrong_files(tmp_path, content, reason):
    for name in ("train.csv", "test.csv"):
        write_both(tmp_path)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as caught:
            AgNews(path=tmp_path).load()
        assert str(caught.value).startswith(f"data.dataset: {tmp_path / name}: {reason}")
        assert "\n" not in str(caught.value)


def test_damaged_and_missing_files(tmp_path):
    with pytest.raises(InputError, match=r"^data.dataset: not found in .*Put train.csv and test.csv .* ag_news_csv"):
        AgNews().load()
    write(tmp_path / "train.csv.gz", csv_text())
    with pytest.raises(InputError, match=r"holds train.csv.gz, but no test.csv or test.csv.gz"):
        AgNews(path=tmp_path).load()
    write(tmp_path / "test.csv", csv_text())
    whole = gzip.compress(csv_text().encode())
    for content in (b"", b"1,a,b\n", whole[:-8], whole[:20] + b"\0\0\0" + whole[23:]):
        (tmp_path / "train.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"train.csv.gz: (is not a whole gzip file|holds no rows)"):
            AgNews(path=tmp_path).load()
