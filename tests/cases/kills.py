"""Runs that are killed between two rounds, without new processes."""


class Killed(BaseException):
    """As kill -9 does: nothing of ours sees it, and nothing is written any more."""


def kill_at(row_number):
    """Return a listener that kills a run when so many of its rounds, or rows, are complete."""
    rows = []

    def progress(row):
        rows.append(row)
        if len(rows) == row_number:
            raise Killed

    return progress
