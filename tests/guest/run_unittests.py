#!/usr/bin/python3
"""Run tests of Python's own and write how each of them ended: run_unittests.py ENDED NAME...

A file, for what unittest prints may be in the middle of what a test prints.
"""

import sys
import unittest
from pathlib import Path
from typing import Any

ended: list[str] = []


class Result(unittest.TestResult):
    """Remembers the end of each test."""

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Remember a test that was fine."""
        ended.append(f"{test.id()} ok")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """Remember a test that was left out."""
        ended.append(f"{test.id()} skipped: {reason}")

    def addSubTest(self, test: unittest.TestCase, _: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Remember a part of a test that failed."""
        if err:
            self.addFailure(test, err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Remember a test that failed."""
        ended.append(f"{test.id()} BAD: {err[1]!r}")

    addError = addFailure  # noqa: N815


unittest.defaultTestLoader.loadTestsFromNames([f"test.{name}" for name in sys.argv[2:]]).run(Result())
Path(sys.argv[1]).write_text("".join(f"{line}\n" for line in sorted(ended)))
