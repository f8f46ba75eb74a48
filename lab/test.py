"""``./test``: quick checks of every part, then the tests, on emulated machines.

./test                     every quick check, and every test that is not rare
./test --all               rare ones and all repetitions, too, machines that boot cold, and all kernels' code under lockdep
./test --minutes 60        late tests (tests/support/tiers.py) only as far as there is time
./test --touched [REV]     what the changes since REV (HEAD) can have broken
./test -k panic            tests by name; and all else that pytest understands
./test tests/system/test_life.py

With tests chosen, only these run, and no checks.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lab import build, kernels, ledger, progress, template, tier, touched
from lab.checks import quick_checks
from lab.command import CommandError, run
from lab.paths import CACHE, SRC

#: Of the kernels of most tests; the others' products are built when the first test wants them.
_KERNELS = ("6.12", "6.1")
#: Bytes that a run needs in the cache: templates, and what machines write.
_NEEDED = 4 << 30
#: Options of pytest that choose tests.
_CHOOSING = ("-k", "-m", "--lf", "--ff", "--sw", "--last-failed", "--stepwise")
#: Options of pytest for which tests must run in one process, where a person sees them.
_BY_HAND = ("-s", "--pdb", "--trace", "--collect-only", "--co", "--capture=no")
#: Seconds after which a test is over and has failed, many times what the longest one takes: one that hangs is named.
_LIMIT, _LIMIT_OF_ALL = 900, 7200
_USAGE, _NO_TESTS, _INTERRUPTED = 4, 5, 130


class Refusal(RuntimeError):
    """What was asked for cannot be; the text says why and what to do."""


def _parse(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="./test",
        description=__doc__,
        epilog="Everything else goes to pytest: -k, -x, --maxfail, --pdb, ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--all", action="store_true", help="all repetitions and cold starts")
    parser.add_argument("--cold", action="store_true", help="boot every machine, clone none")
    parser.add_argument(
        "--touched", nargs="?", const="HEAD", metavar="REV", help="what changes since REV can have broken"
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="begin no late test after so many minutes; what had no time is named"
    )
    parser.add_argument("--checks", action="store_true", help="the quick checks only")
    # More machines than cores would be late too often.
    usual = min(os.cpu_count() or 1, 4)
    parser.add_argument("-n", "--numprocesses", type=int, metavar="N", help=f"tests beside each other ({usual})")
    own, others = parser.parse_known_args(words)
    if own.numprocesses is None:
        own.numprocesses = 0 if any(word in _BY_HAND for word in others) else usual
    if own.numprocesses < 0:
        parser.error("-n: how many tests run beside each other, 0 for one at a time in this process")
    if own.checks and (others or own.touched):
        parser.error("--checks runs no tests: choose one or the other")
    return own, others


def _chooses(others: list[str]) -> bool:
    """Return whether the arguments for pytest choose tests."""
    return any(
        word.startswith(_CHOOSING) if word.startswith("-") else (SRC / word.split("::")[0]).exists() for word in others
    )


@contextmanager
def _alone() -> Iterator[None]:
    """Keep a second run out of this cache: they would take each other's machines' time and products."""
    with (CACHE / "test.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Refusal(
                f"another ./test uses this cache since {file.read().strip()}:"
                " wait for it, or choose another cache with SHIMOS_CACHE=DIRECTORY"
            ) from None
        file.truncate(0)
        file.write(time.strftime("%H:%M:%S"))
        file.flush()
        yield


def _need_room() -> None:
    free = shutil.disk_usage(CACHE).free
    if free < _NEEDED:
        raise Refusal(
            f"the cache's disk has {free >> 20} MiB free, a run needs {_NEEDED >> 20}:"
            " free some space, or choose another cache with SHIMOS_CACHE=DIRECTORY"
        )


def _pytest(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=SRC, check=False).returncode


def _check_arguments(others: list[str]) -> int:
    """Have pytest look at the arguments before anything is built; 0, or its exit status."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "--no-header", *others],
        cwd=SRC,
        check=False,
        capture_output=True,
        text=True,
    )
    if result.returncode == _NO_TESTS:
        print(f"./test: no test fits {' '.join(others)}", file=sys.stderr)
    elif result.returncode:
        print(result.stdout[-4000:] + result.stderr[-4000:], file=sys.stderr)
    return result.returncode


def _build() -> None:
    """Build once, here, what all tests' processes want."""
    with ThreadPoolExecutor() as pool:
        # Both cores are wanted by cargo and by make, which take turns.
        for job in [pool.submit(tree) for tree in build.trees(kernels.get(*_KERNELS), tests=True)]:
            job.result()


def _tests(own: argparse.Namespace, others: list[str]) -> int:
    with progress.step("building everything under test"):
        _build()
    workers = ["--numprocesses", str(own.numprocesses), "--dist", "loadgroup"] if own.numprocesses else []
    return _pytest(*workers, f"--timeout={_LIMIT_OF_ALL if own.all else _LIMIT}", *others)


def _lockdep() -> int:
    """Run what has every checker of the kernel on, on a kernel that is built first; see docs/lab.md."""
    with progress.step("building the debugging kernel"):
        run(SRC / "lab" / "debug" / "build")
    return _pytest("tests/system/debug/lockdep.py")


def _run(own: argparse.Namespace, others: list[str]) -> int:
    """Return 0 if all is good; else what failed is said last."""
    tier.choose(own.all)
    tier.limit(own.minutes)
    os.environ[template.COLD_VARIABLE] = "1" if own.cold else ""
    checks = not _chooses(others)
    if own.touched:
        found = touched.tests(touched.changed(own.touched))
        if found is not None:
            if not found:
                progress.say("no test depends on what has changed; only the quick checks run")
                own.checks = True
            others = [*others, *found]
    if others and (status := _check_arguments(others)):
        return status
    failed: list[str] = []
    if checks:
        with progress.step("quick checks"):
            kernels.get(*_KERNELS)
            failed = quick_checks()
    status = 0 if own.checks else _tests(own, others)
    if own.all and checks and not own.checks:
        status = _lockdep() or status
    # Said again where it will be seen.
    for line in ledger.last_words(failed):
        print(line, flush=True)
    return status or (1 if failed else 0)


def main(words: list[str]) -> int:
    """Return the exit status: 0 all is good, 1 something failed, 4 and 5 as pytest's."""
    own, others = _parse(words)
    ledger.begin()
    try:
        with _alone():
            _need_room()
            return _run(own, others)
    except (Refusal, template.NoRoom, touched.NoRevision) as refusal:
        print(f"./test: {refusal}", file=sys.stderr)
        return _USAGE
    except CommandError as error:
        print(f"./test: cannot build what is under test:\n{str(error)[-6000:]}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
