"""Groups of devices of which one is present in each session; each part is built without a whole scenario."""

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.server.session_groups import SessionGroups

LABELS = np.array([0, 0, 1, 1, 2, 2])
PARTS = [np.array([index]) for index in range(6)]


def test_a_group_with_all_classes_is_tested_on_all():
    groups = SessionGroups.divide(2, 0, np.array([0, 1, 0, 1]), np.array([0, 1]), PARTS[:4], 2)
    assert groups.labels(1) is None


def test_a_group_that_no_test_sample_fits_is_refused():
    with pytest.raises(InputError, match="no test sample is of a class that group 3 has: choose fewer groups"):
        SessionGroups.divide(3, 0, LABELS, np.array([0, 1]), PARTS, 3)
