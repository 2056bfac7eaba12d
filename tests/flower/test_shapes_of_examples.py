"""Small apps of the shapes of Flower's examples: nested keys, actions, replies that nothing awaits, data loaders."""

import json

import pytest

from edgefl.core.errors import InputError
from tests.cases.flower_cases import CLIENT, emulated, write_app

DEVICES = {"devices": {"count": 3}, "model": "logistic", "training": {"local_epochs": 1}, "rounds": 3}
NOTES_CONFIG = """
    import json
    with open("{folder}/config.json", "w") as file:
        json.dump(dict(context.run_config), file)
    grid.send_and_receive(ask(grid.get_node_ids()))
"""


def with_nested_keys(folder):
    """An app with the configuration of the XGBoost examples, which notes what it gets."""
    app = write_app(folder / "app", "nested_app", NOTES_CONFIG.format(folder=folder))
    with (app / "pyproject.toml").open("a") as file:
        file.write('params.eta = 0.1\nparams.tree-method = "hist"\n')
    return app


def test_nested_keys_of_the_run_configuration_are_replaced_by_their_dotted_names(tmp_path):
    emulated(with_nested_keys(tmp_path), run_config='params.eta=0.3 params.tree-method="exact"')
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {"num-server-rounds": 3, "lr": 0.5, "params.eta": 0.3, "params.tree-method": "exact"}


def test_an_unknown_nested_key_is_refused_by_its_name(tmp_path):
    with pytest.raises(InputError, match=r"params\.etas"):
        emulated(with_nested_keys(tmp_path), run_config="params.etas=0.3")


# As in vertical learning: each client is asked for something, then sent a gradient whose answer nothing awaits.
ACTIONS = CLIENT.replace("@app.train()", '@app.train("apply_gradients")').replace("@app.query()", '@app.query("embed")')
TWO_STEPS = """
    for step in range(2):
        grid.send_and_receive(ask(grid.get_node_ids(), "query.embed"))
        grid.push_messages(ask(grid.get_node_ids(), "train.apply_gradients"))
"""


@pytest.mark.oracle
def test_actions_count_as_messages_of_their_kind_and_those_under_way_at_the_end_stay_unfinished(tmp_path):
    app = write_app(tmp_path / "app", "vertical_app", TWO_STEPS, client=ACTIONS)
    result = emulated(app, {**DEVICES, "radio": {"sharing": "processor"}})
    assert result.status == "finished"
    assert result.rounds["selected"].sum() == 2 * 3  # each step's train messages
    assert result.rounds["answered"].sum() == 2 * 3  # each step's query messages
    # A node answers one message after the other: before it answers the second query it has trained.
    assert result.rounds["received"].sum() == 3
    assert result.summary["drops"]["unfinished"] == 3
