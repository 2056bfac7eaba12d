"""Count what one round costs a reader: the modules that it passes through, and the calls of functions on its way.

    python benchmarks/round_calls.py                # this tree
    PYTHONPATH=../before python benchmarks/round_calls.py  # an earlier checkout

The round is the second one of a run with one participant that trains nothing, from its beginning to its last row; so
what a first round builds is not counted. A call counts if the function is one of edgefl or channel, and no part of a
comprehension.
"""

import sys
from pathlib import Path

import edgefl
from edgefl.runs.emulation import Options, begin
from edgefl.scenario import Scenario

ROOMS = tuple(f"{Path(edgefl.__file__).parents[1] / package}/" for package in ("edgefl", "channel"))
SCENARIO = {
    "rounds": 3,
    "devices": {"count": 1},
    "data": {"dataset": "digits"},
    "model": {"kind": "logistic"},
    "server": {"participants": 1},
}


class Traced:
    """Counts calls from the end of the first round to that of the second."""

    def __init__(self):
        self.modules = set()
        self.calls = 0
        self.between = 0  # calls from one module to another
        self.rounds = 0

    def note_round(self, row):
        """Begin to count when the first round has ended, and stop when the second one has."""
        self.rounds += 1
        sys.setprofile(self.note_call if self.rounds == 1 else None)

    def note_call(self, frame, event, _):
        """Count a call of a function of these packages."""
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOMS) and not frame.f_code.co_name.startswith("<"):
            self.modules.add(file)
            self.calls += 1
            caller = frame.f_back  # None if compiled code has called it
            if caller is not None and caller.f_code.co_filename != file:
                self.between += caller.f_code.co_filename.startswith(ROOMS)


def main():
    """Print the counts."""
    traced = Traced()
    scenario = Scenario.model_validate(SCENARIO)
    with begin(scenario, Options(train=False), traced.note_round) as emulation:
        emulation.advance()
    print(f"modules {len(traced.modules)}, calls {traced.calls}, of them between modules {traced.between}")


if __name__ == "__main__":
    main()
