#!/usr/bin/python3
"""Threads, signals, fork and exec from a dynamic program.  What it prints is always the same."""

import hashlib
import os
import signal
import subprocess
import threading

results = [b""] * 8


def work(n: int) -> None:
    """Keep a CPU busy."""
    for _ in range(20):
        results[n] = hashlib.sha256(bytes([n]) * 50000 + results[n]).digest()


threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(hashlib.sha256(b"".join(results)).hexdigest())

seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
while len(seen) < 50:
    sum(range(1000))
signal.setitimer(signal.ITIMER_REAL, 0)

# Each child has children, too, and says by its status how many forks came before it.
children = [os.fork() for _ in range(3)]
if 0 in children:
    os._exit(children.index(0) + len(children))
print(sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
print(subprocess.run(["/bin/ls", "/"], capture_output=True, text=True, check=False).stdout)
