"""Variants that do what another paper's program does: subclasses that a key chooses."""

import pytest
from pydantic import ValidationError

from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.as_published.fedssg_program import FedSSGProgram
from edgefl.learning.algorithms.fedssg import FedSSG
from edgefl.learning.algorithms.scaffold import Scaffold

CHOSEN = [  # kind, key, value, and the class that does it
    ("scaffold", "variant", "paper", "Scaffold"),
    ("scaffold", "variant", "ssg_code", "ScaffoldInFedSSG"),
    ("scaffold", "variant", "dyn", "ScaffoldInDynamicDevices"),
    ("scaffold", "variant", "eve_code", "ScaffoldInFedEve"),
    ("fedssg", "variant", "paper_main", "FedSSG"),
    ("fedssg", "variant", "code", "FedSSGProgram"),
    ("fedssg", "variant", "algorithm_1", "FedSSGAppendix"),
    ("fedssg", "gradient_correction", False, "FedSSGProgramWithoutCorrection"),
    ("fedvra", "variant", "general", "FedVRA"),
    ("fedvra", "variant", "ssg_code", "FedVRAInFedSSG"),
    ("fedeve", "q", "paper", "FedEve"),
    ("fedeve", "q", "code", "FedEveProgram"),
]


@pytest.mark.parametrize(("kind", "key", "value", "name"), CHOSEN)
def test_a_key_chooses_the_class_and_the_scenario_file_does_not_show_it(kind, key, value, name):
    member = ALGORITHMS.load(kind)
    built = member(**{key: value})
    read = member.model_validate({key: value})
    assert type(built).__name__ == type(read).__name__ == name
    assert built == read
    assert isinstance(built, member)
    dumped = ALGORITHMS.dump(built)
    assert list(dumped) == ["kind", *member.model_fields]
    assert (dumped["kind"], dumped[key]) == (kind, value)


def test_users_derive_from_the_class_whose_hooks_they_want():
    class OwnProgram(FedSSGProgram):
        pass

    class OwnPaper(FedSSG):
        pass

    assert type(OwnProgram()) is OwnProgram
    assert type(OwnPaper(variant="paper_main")) is OwnPaper
    with pytest.raises(ValidationError, match="OwnPaper has other hooks than this variant: derive it from FedSSGProg"):
        OwnPaper()


def test_other_keys_stay():
    algorithm = Scaffold(variant="eve_code", server_lr=0.5, cv_lr="initial")
    assert (algorithm.server_lr, algorithm.cv_lr, algorithm.option) == (0.5, "initial", "II")
