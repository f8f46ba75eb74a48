"""``./test``: quick checks of every part, then pytest.

    ./test [PYTEST-ARGUMENTS]

With arguments that choose tests, only these run.
"""

from __future__ import annotations

import os
import subprocess
import sys

from lab import build, kernels, progress
from lab.checks import quick_checks
from lab.paths import SRC


def main(arguments: list[str]) -> int:
    """Checks and tests; 0 if all is good.  Pytest's summary comes last."""
    failed: list[str] = []
    if not any(not a.startswith("-") for a in arguments):
        # More machines than cores would be late too often.
        workers = min(os.cpu_count() or 1, 4)
        arguments = ["--numprocesses", str(workers), "--dist", "loadgroup", *arguments]
        with progress.step("quick checks"):
            kernels.get("6.12", "6.1")
            failed = quick_checks()
    with progress.step("building everything under test"):
        build.everything()
    # What failed above is said again where it will be seen.
    os.environ["SHIMOS_FAILED_CHECKS"] = "\n".join(failed)
    status = subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=SRC, check=False).returncode
    return 1 if failed else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
