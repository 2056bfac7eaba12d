"""Programs that write to a terminal."""

import os
import pty
import termios


def shown_by(start, *command, streams, **options):
    """Start a program with a terminal of 100 columns as its streams; return its exit code and what the terminal got."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with start(*command, **dict.fromkeys(streams, theirs), **options) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # how a terminal reports that it is closed
            pass
    os.close(ours)
    return process.returncode, shown
