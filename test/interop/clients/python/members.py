"""What the Python programs share as members of groups; `grouping.ts` says what all members have to do."""
import signal
import sys

SESSION_TIMEOUT_MS = 6_000
HEARTBEAT_INTERVAL_MS = 500
COMMIT_INTERVAL_MS = 200
POLL_MS = 100


class Ending:
    """Whether the program was told to end."""

    def __init__(self):
        self.is_told = False
        signal.signal(signal.SIGTERM, self.tell)

    def tell(self, *_):
        self.is_told = True


def show(value):
    print(value.decode(), flush=True)


def complain(error):
    print(repr(error), file=sys.stderr, flush=True)
