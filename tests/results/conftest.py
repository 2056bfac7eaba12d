"""What every test of the report starts from."""

import pytest
from result_folders import make


@pytest.fixture
def result(tmp_path):
    """Makes result folders below the test's own folder."""

    def build(folder="run", /, **options):
        return make(tmp_path / folder, **options)

    return build
