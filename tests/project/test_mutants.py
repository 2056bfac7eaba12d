"""The mutants of `tests/mutants.py` break code that is there."""

from tests.mutants import MUTANTS, ROOT


def test_each_mutant_changes_one_place():
    for name, mutant in MUTANTS.items():
        assert (ROOT / mutant.file).read_text().count(mutant.old) == 1, name
        assert mutant.new != mutant.old
        assert all((ROOT / folder).exists() for folder in mutant.tests), name
