"""The ledger only records: a closed row is final, and what is known later is an entry of its own."""

import numpy as np
import pytest

from edgefl.records.ledger import Ledger

ROW = {"session": 1, "round": 1, "time_s": 2.0, "energy_j": 3.0, "arrivals": 1, "test_loss": None}


def test_closed_rows_are_read_only():
    ledger = Ledger()
    ledger.close_round(ROW, {})
    for row in (ledger.rounds[0], ledger.row(0), ledger.last_row):
        with pytest.raises(TypeError):
            row["energy_j"] = 0.0
    ledger.rounds.clear()  # a copy
    assert len(ledger.rounds) == 1


def test_row_is_a_copy_of_its_mapping():
    ledger = Ledger()
    row = dict(ROW)
    ledger.close_round(row, {})
    row["energy_j"] = 0.0
    assert ledger.row(0)["energy_j"] == 3.0


def test_an_evaluation_is_an_entry_of_its_own():
    """It may come after later rounds have ended, and columns that only it has come last."""
    ledger = Ledger()
    assert [ledger.close_round({**ROW, "round": number}, {}) for number in (1, 2)] == [0, 1]
    ledger.enter_evaluation(0, {"test_loss": 0.5, "test_auc": 0.75})
    columns = ledger.round_columns()
    assert columns["test_loss"] == [0.5, None]
    assert columns["test_auc"] == [0.75, None]
    assert list(columns)[-1] == "test_auc"
    ledger.enter_evaluation(0, {"test_loss": 0.25})
    assert (ledger.row(0)["test_loss"], ledger.row(0)["test_auc"]) == (0.25, 0.75)


def test_additions_to_the_last_round():
    ledger = Ledger()
    for number in (1, 2):
        ledger.close_round({**ROW, "round": number}, {})
    ledger.add_to_last_round({"arrivals": 4})
    ledger.add_to_last_round({"arrivals": 2, "energy_j": 0.5})
    assert [row["arrivals"] for row in ledger.rounds] == [1, 7]
    assert ledger.energy_j == 3.5
    assert ledger.rounds[0] == {**ROW, "round": 1}


def test_simultaneous_events_have_one_order():
    """By time, kind and device, whatever the order in which they were noted; those of a round stay together."""
    ledger = Ledger()
    for time_s, kind, device in [(1.0, "upload_end", 3), (1.0, "departed", 5), (0.5, "upload_end", 9)]:
        ledger.event(time_s, kind, device)
    ledger.close_round(ROW, {"device": np.array([2])})
    ledger.event(1.0, "arrival", 2)
    ledger.close_round(ROW, {"device": np.array([2, 4])})
    assert ledger.event_columns()["device"] == [9, 5, 3, 2]
    assert ledger.participants.tolist() == [2, 4]
