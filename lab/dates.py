"""The times of the tree's files, for a cache that several trees use.

Cargo and make go by times: what they built from one tree is good for another, whatever that one
says, if its files are older.  So a file gets the time at which it was first seen to say what it
says.  Of two trees that build at the same moment, one may still get the other's.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

from lab import cache, scripts
from lab.paths import CACHE, SRC


def date_tree() -> None:
    """Date this tree's files, before cargo or make looks at them."""
    with cache.lock("seen"):
        date(SRC, CACHE / "seen.json")


def date(root: Path, seen: Path) -> None:
    """Give files below ``root`` that do not say what they said last a new time; ``seen`` keeps what they said."""
    known: dict[str, tuple[str, int]] = json.loads(seen.read_text()) if seen.exists() else {}
    now = time.time_ns()
    for path in scripts.source_files(root):
        name = str(path.relative_to(root))
        contents = hashlib.sha256(path.read_bytes()).hexdigest()
        before, since = known.get(name, ("", now))
        if contents != before:
            since = now
        if path.stat().st_mtime_ns < since:
            os.utime(path, ns=(since, since))
        known[name] = (contents, since)
    new = seen.with_suffix(".new")
    new.write_text(json.dumps(known))
    new.replace(seen)
