"""Exit codes of the command line."""

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130  # as shells have it: 128 and the number of SIGINT

CODE_OF_STATUS = {"finished": EXIT_DONE, "failed": EXIT_FAILED, "interrupted": EXIT_INTERRUPTED}
