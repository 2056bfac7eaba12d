"""Count the calls into NumPy by name: functions, ufuncs, and methods of arrays and generators.

Operators (`a + b`), indexing and attributes have no name and are not counted; nor are types (`np.float64(x)`), the
calls of NumPy's own functions among each other, and compiled loops, which call nothing.
"""

import sys
from contextlib import contextmanager

import numpy as np

WITH_METHODS = (np.ndarray, np.generic, np.ufunc, np.random.Generator, np.random.BitGenerator)


class Counted:
    """A function of NumPy that counts its calls, and is otherwise what it was.

    Args:
        function: the function, or the ufunc.
        counter: where it counts.
    """

    def __init__(self, function, counter):
        self._function = function
        self._counter = counter

    def __call__(self, *arguments, **keywords):
        """Call the function."""
        self._counter.note(sys._getframe(1))  # noqa: SLF001 - the cheapest look at the caller
        return self._function(*arguments, **keywords)

    def __getattr__(self, name):
        """Return an attribute of the function, such as a ufunc's `reduce`."""
        return getattr(self._function, name)


class Counter:
    """The number of calls so far."""

    def __init__(self):
        self.calls = 0

    def note(self, caller):
        """Count a call, unless NumPy itself made it."""
        if not caller.f_globals.get("__name__", "").startswith("numpy"):
            self.calls += 1

    def profile(self, frame, event, function):
        """Count a call of a method, as `sys.setprofile` reports it."""
        if event == "c_call" and isinstance(getattr(function, "__self__", None), WITH_METHODS):
            self.note(frame)


def _is_function(name, value):
    """Return whether a name of NumPy is that of a function, or of a ufunc."""
    return callable(value) and not isinstance(value, type) and not name.startswith("_")


@contextmanager
def counted_calls():
    """Count the calls inside the context, which returns their counter.

    What numba has not compiled and NumPy has not imported by then fails here: run the same before.
    """
    counter = Counter()
    functions = {name: value for name, value in vars(np).items() if _is_function(name, value)}
    for name, function in functions.items():
        setattr(np, name, Counted(function, counter))
    sys.setprofile(counter.profile)
    try:
        yield counter
    finally:
        sys.setprofile(None)
        for name, function in functions.items():
            setattr(np, name, function)
