#!/usr/bin/python3
"""Be the runtime under crun's own tests: shimos-oci, with what a container on a kernel of its own must say.

Their containers have the host's processes and network where neither matters to a test; they get their own here,
and the kernel and memory of the pool's partitions (SHIMOS_KERNEL).  Tests that ask the version for features mean
what crun was built with, which makes both halves.
"""

import json
import os
import sys
from pathlib import Path

RUNTIME = "/usr/bin/shimos-oci"


def adapt(path: Path) -> None:
    """Write into a container's description what it lacks."""
    config = json.loads(path.read_text())
    annotations = {"org.shimos.kernel": os.environ["SHIMOS_KERNEL"], "org.shimos.memory": "288M"}
    config["annotations"] = config.get("annotations", {}) | annotations
    namespaces = config["linux"]["namespaces"]
    there = {namespace["type"] for namespace in namespaces}
    # One test wants to be refused what it may not set of the host's network.
    sets_network = any(name.startswith("net.") for name in config["linux"].get("sysctl", {}))
    wanted = ("pid",) if sets_network else ("pid", "network")
    namespaces += [{"type": kind} for kind in wanted if kind not in there]
    path.write_text(json.dumps(config))


def main() -> None:
    """Hand over to the runtime."""
    words = sys.argv[1:]
    if "--version" in words:
        os.execvp("crun", ["crun", "--version"])  # noqa: S606 # there is nothing to quote
    if "--root" in words:
        # the pool is that of the usual one
        at = words.index("--root")
        del words[at : at + 2]
    if "--config" in words:
        adapt(Path(words[words.index("--config") + 1]))
    os.execv(RUNTIME, [RUNTIME, *words])  # noqa: S606


main()
