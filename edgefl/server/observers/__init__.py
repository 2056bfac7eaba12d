"""Optional parts of a run: each follows its rounds as an `Observer` (`server/observer.py`) and adds to its results."""
