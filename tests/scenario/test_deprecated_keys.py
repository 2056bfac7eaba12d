"""Keys under an old name, with a made-up table of deprecated keys."""

import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import deprecated_keys, load

ROWS = [
    {"old": "server.clients", "new": "server.participants", "removed_in": "0.7.0"},
    {"old": "clock", "new": "training.local_steps", "removed_in": "0.7.0"},
]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    assert deprecated_keys.table_of(deprecated_keys.__file__, "deprecated_keys.csv") == []
    monkeypatch.setattr(deprecated_keys, "table_of", lambda *_: ROWS)


def test_old_name_is_read_with_a_warning_that_names_its_line(tmp_path, caplog):
    file = tmp_path / "a.yaml"
    file.write_text("rounds: 1\nserver:\n  clients: 3\nclock: 7\n")
    scenario = load(file)
    assert (scenario.participants, scenario.training.local_steps) == (3, 7)
    text = "is called server.participants now: write that, as edgefl 0.7.0 will no longer read server.clients"
    assert caplog.messages[0] == f"{file}:3: server.clients: {text}"
    assert scenario.model_dump(mode="json")["server"]["participants"] == 3


def test_override_by_the_old_name(caplog):
    assert load({}, ["server.clients=4"]).participants == 4
    assert caplog.messages[0].startswith("--set server.clients=4: server.clients: is called server.participants now")


def test_fault_of_a_value_stands_at_the_old_name(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("rounds: 1\nserver:\n  clients: none\n")
    with pytest.raises(InputError, match=r"a\.yaml:3: server\.participants: "):
        load(file)


def test_both_names_are_refused():
    with pytest.raises(InputError, match=r"is called server\.participants now, which is there, too: leave one of them"):
        load({"server": {"clients": 3, "participants": 3}})
