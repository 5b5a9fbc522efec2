"""Run a command that receives SIGTERM when its parent exits.

The command is `python -m citeboard.core.parent_death PARENT COMMAND ...`, where PARENT
is the id of the parent process. Only Linux sends the signal.
"""

import os
import signal
import sys

from citeboard.core.confined.limits import signal_process_on_parent_exit


def main() -> None:
    parent = int(sys.argv[1])
    signal_process_on_parent_exit(signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("Whoever started this is gone already.")
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606  (it is what this module is for)


if __name__ == "__main__":
    main()
