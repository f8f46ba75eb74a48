"""What Linux does while a real-time program shares its CPU, in tests and benchmarks."""

from __future__ import annotations

#: The work goes on until this file is there.
END = "/tmp/end"
UNTIL_END = f"while [ ! -e {END} ]"
#: Disk, files and forks, as in the paper's figures 6 and 7 (SPUMONE 2011).
WORK = (
    f"{UNTIL_END}; do dd if=/dev/zero of=/tmp/zeroes bs=64k count=64; sync;"
    " find / -xdev -type f | head -n 500 | xargs cat; /bin/true | cat; done"
)
