"""Exit codes of the command line."""

DONE = 0
FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130  # as shells have it: 128 and the number of SIGINT

CODE_OF_STATUS = {"finished": DONE, "failed": FAILED, "interrupted": INTERRUPTED}
