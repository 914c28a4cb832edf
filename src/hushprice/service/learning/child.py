"""Where the learner's process begins: it watches its parent from the first moment, while the rest is still loading.

A service that was killed is started again at once, and needs the operator's port, which a child that has not noticed
would still hold. So nothing that takes long to load is imported here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable


class Parent:
    """The process at the other end of the pipe."""

    def __init__(self) -> None:
        self.clipped: dict[str, int] = {}  # what it counts: see LearnerProcess.report
        self.record_answers: dict[str, int] = {}
        self.ended: Callable[[], None] = lambda: os._exit(1)  # replaced once there is something to end cleanly

    def watch(self) -> None:
        """Read lines in a thread of its own, until the pipe closes; the last may be half a line."""
        try:
            for line in sys.stdin.buffer:
                if line.endswith(b"\n"):
                    told = json.loads(line)
                    self.clipped.update(told["clipped"])
                    self.record_answers.update(told["record_answers"])
        finally:
            self.ended()


def main() -> None:
    """Read settings from the parent, watch it, and learn until it ends."""
    settings = sys.stdin.buffer.readline()
    if not settings.endswith(b"\n"):
        os._exit(1)  # the parent is gone already
    parent = Parent()
    threading.Thread(target=parent.watch, name="hushprice-parent", daemon=True).start()
    from hushprice.service.learning import learner_main

    learner_main.run_child(settings, parent)


if __name__ == "__main__":
    main()
