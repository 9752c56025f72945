"""A child process for test_child.py: it answers what it is asked, and ends as it is told."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

from corl.processes.child import at_parents_end, connect
from corl.processes.pipes import send

messages, outbox = connect()
while True:
    kind, value = pickle.loads(messages.get())
    if kind == "exit":
        os._exit(value)
    elif kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "start":  # a process of its own that would go on for long
        send(outbox, subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL).pid)
    elif kind == "file":  # to be removed at the parent's end
        Path(value).touch()
        at_parents_end(Path(value).unlink)
        send(outbox, value)
    elif kind == "threads":
        send(outbox, os.environ.get("OMP_NUM_THREADS"))
    else:
        print("printed")
        send(outbox, value)
