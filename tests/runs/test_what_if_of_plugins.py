"""A scenario that asks to be priced, and names an algorithm that was not imported: what is not there is not asked."""

from contextlib import suppress

import yaml

from edgefl.core.plugin_import import Access, NotImported
from edgefl.runs.assembly import rehearse
from edgefl.scenario import load


def test_an_algorithm_that_was_not_imported(tmp_path):
    file = tmp_path / "own.yaml"
    asked = {"radio.bandwidth_hz": [10e6, 20e6]}
    file.write_text(yaml.safe_dump({"rounds": 2, "algorithm": "nowhere:Mine", "report": {"what_if": asked}}))
    with suppress(NotImported):
        rehearse(load(file, access=Access(mode="skip")))
