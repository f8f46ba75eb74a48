"""Progress on stderr: every step with its time, a sign of life in long ones."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_started = time.monotonic()
_lock = threading.Lock()
_quiet = threading.Event()

#: A step that takes longer says so every that many seconds.
_SIGN_OF_LIFE = 10.0


def quiet() -> None:
    """Say nothing from now on (the tests have their own output)."""
    _quiet.set()


def elapsed() -> float:
    """Return seconds since the program started."""
    return time.monotonic() - _started


def say(text: str) -> None:
    """Print a line with the time since the program started."""
    if _quiet.is_set():
        return
    with _lock:
        print(f"[{elapsed():6.1f} s] {text}", file=sys.stderr, flush=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Announce a step, show that it is alive, and say how long it took."""
    say(f"{what} ...")
    begin = time.monotonic()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SIGN_OF_LIFE):
            say(f"  still {what} ({time.monotonic() - begin:.0f} s)")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        say(f"FAILED: {what} after {time.monotonic() - begin:.1f} s")
        raise
    finally:
        done.set()
        thread.join()
    say(f"{what}: {time.monotonic() - begin:.1f} s")
