"""Where things are inside the tool root; ``lab/inside`` mounts them there."""

from pathlib import Path

SRC = Path("/src")
CACHE = Path("/cache")
LOGS = CACHE / "logs"

if not (SRC / "lab").is_dir() or not CACHE.is_dir():
    raise SystemExit("the lab's programs run inside its tool root: lab/enter python3 -m lab.…")
