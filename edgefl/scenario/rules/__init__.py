"""Rules between sections: a table of what does not go together.

To add one: a row in the module of its subject, where one feature excludes another for a reason. `features.py` has
each feature with the key to name, the fact from `edgefl.scenario.facts` that tells it, and the remedies that end
it. `table.py` has the order. A test follows all remedies to their end if two features in
`tests/cases/scenario_features.py` break the rule.
"""

from contextlib import suppress

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError
from edgefl.core.plugin_import import NotImported
from edgefl.core.plugins import attributing
from edgefl.core.section import fault_at
from edgefl.scenario.rules.rule import Refusal
from edgefl.scenario.rules.table import RULES
from edgefl.scenario.sections import Sections


def check(scenario: Sections) -> None:
    """Check all rules, in the order of `RULES`.

    Raises:
        ValidationError: about the first rule that is broken.
        InputError: a plug-in has failed.
    """
    refusal = first_refusal(scenario)
    if refusal is not None:
        raise fault_at(refusal.path, refusal.text)


def first_refusal(scenario: Sections) -> Refusal | None:
    """Return the refusal of the first rule that a scenario breaks; None if it breaks none.

    Raises:
        InputError: a plug-in has failed.
    """
    with attributing(plugins_in(scenario), InputError):
        for rule in RULES:
            # Rules about a member that `validate` has not imported are skipped, and the others are checked.
            with suppress(NotImported):
                refusal = rule.refusal(scenario)
                if refusal is not None:
                    return refusal
    return None
