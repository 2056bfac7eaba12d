"""The mod that logs the phases of a deployed app, called as Flower calls it."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import read_log

WEIGHTS = 1_000


def logged(path, unit="a", **options):
    from edgefl.flower.phase_log import PhaseLog  # it imports Flower

    return PhaseLog(path, device=f"pi4/{unit}", network="cnn", batch_size=16, **options)


def message(kind="train", number="3"):
    from flwr.app import Array, ArrayRecord, Metadata, RecordDict
    from flwr.app.message.message import make_message

    arrays = ArrayRecord({"w": Array(np.zeros(WEIGHTS, dtype=np.float32))})
    metadata = Metadata(1, "m", 2, 7, "", number, time.time(), 3600.0, kind)
    return make_message(metadata, RecordDict({"arrays": arrays}))


def called(mod, *messages, samples=48):
    """Hands messages to an app with the mod."""
    from flwr.app import Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp(mods=[mod])

    def reply(message, context):
        metrics = {"loss": 1.0} if samples is None else {"loss": 1.0, "num-examples": samples}
        return Message(RecordDict({"metrics": MetricRecord(metrics), **message.content}), reply_to=message)

    app.train()(reply)
    app.evaluate()(reply)
    app.query("size")(reply)
    for one in messages:
        answered = app(one, Context(1, 1, {}, RecordDict(), {}))
        assert answered.content["metrics"]["loss"] == 1.0


def test_training_and_evaluation_of_a_client_are_rows_of_the_log(tmp_path):
    path = tmp_path / "log.csv"
    mod = logged(path, epochs=2)
    called(mod, message(), message("evaluate"), message("query.size"), message(number="4"))
    rows = read_log(path)
    assert [(row.phase, row.round, row.samples, row.steps) for row in rows] == [
        ("train", "3", 96, 6),
        ("evaluate", "3", 48, 3),
        ("train", "4", 96, 6),
    ]
    assert {(row.device, row.network, row.batch_size, row.bytes) for row in rows} == {("pi4/a", "cnn", 16, 4 * WEIGHTS)}
    assert all(0 < row.seconds < 10 for row in rows)
    assert "measured: {path: times.csv" in calibrate(path).scenario


def test_downloads_are_rows_where_clocks_agree(tmp_path):
    path = tmp_path / "log.csv"
    sent = message()
    sent.metadata.created_at -= 100
    called(logged(path, clocks_agree=True), sent)
    download, _ = read_log(path)
    assert (download.phase, download.round, download.bytes) == ("download", "3", 4 * WEIGHTS)
    assert download.seconds == pytest.approx(100, abs=5)


def test_a_reply_without_samples_is_told(tmp_path, caplog):
    path = tmp_path / "log.csv"
    with caplog.at_level(logging.WARNING):
        called(logged(path), message(), samples=None)
    assert "a reply to train has no num-examples: its seconds are not logged" in caplog.text


def test_clients_share_a_log(tmp_path):
    path = tmp_path / "log.csv"
    mods = [logged(path, unit) for unit in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda mod: called(mod, *[message(number=str(one)) for one in range(20)]), mods))
    assert len(read_log(path)) == 8 * 20
