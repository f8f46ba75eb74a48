"""What system calls cost programs in kernel mode: `bench/kml`.

The same program in user mode, in kernel mode unmodified (SYSCALL), and in kernel mode
with direct calls (kml.h), on one machine whose clock counts instructions.  Then real
programs, unmodified.  The paper's figures (Maeda, "Kernel Mode Linux", Linux Journal
2003) are cycles and throughput of a Pentium 4, where entering the kernel was dearer.
"""

from __future__ import annotations

import argparse
import re
import sys

from bench import kml_demo
from lab.machine import Machine
from lab.stage import kml

#: The issue's aim for getpid by direct call.
GETPID = 0.35

PAPER = {
    "getpid": "1/36",
    "gettimeofday": "1/2",
    "file_write": "1.006 to 1.032",
    "file_rewrite": "1.033 to 1.053",
    "file_read": "1.031 to 1.15",
    "file_reread": "1.068 to 1.21",
}

#: Real programs and what they are told; unmodified, so they gain by SYSCALL only.
REAL = {
    "sqlite3: 2000 rows in, one at a time, and sums": (
        "sqlite3",
        '-batch :memory: "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n'
        ' where i<2000) insert into t select i, i*i from n; select sum(a), sum(b) from t"',
    ),
    "bash: 200 times a subshell": ("bash", "-c 'for ((i = 0; i < 200; i++)); do (:); done'"),
    "python3: 3000 times os.stat": ("python3", "-c 'import os\nfor i in range(3000): os.stat(\"/\")'"),
}


def values(text: str) -> dict[str, float]:
    """`name value` lines."""
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


def single_calls(user: dict[str, float], trusted: dict[str, float], direct: dict[str, float]) -> bool:
    """Instructions per call; True if the aim is met."""
    met = direct["getpid"] <= GETPID * user["getpid"]
    print("| instructions | user mode | kernel mode | ratio | direct call | ratio | aim | paper |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in (n for n in user if not n.startswith("file_")):
        aim = f"<= {GETPID} {'met' if met else 'MISSED'}" if name == "getpid" else ""
        print(
            f"| {name.replace('_', ' ')} | {user[name]:.0f} | {trusted[name]:.0f} | {trusted[name] / user[name]:.2f}"
            f" | {direct[name]:.0f} | {direct[name] / user[name]:.2f} | {aim} | {PAPER.get(name, '')} |"
        )
    return met


def files(user: dict[str, float], trusted: dict[str, float], direct: dict[str, float]) -> None:
    """Throughput of whole files, as a factor of user mode's."""
    kinds = ("file_write", "file_rewrite", "file_read", "file_reread")
    print("\n| throughput, 8 KiB at a time, user mode = 1 | file | kernel mode | direct calls | paper |")
    print("| --- | --- | --- | --- | --- |")
    for kind in kinds:
        for name in (n for n in user if n.startswith(f"{kind}_")):
            size = name.rpartition("_")[2]
            print(
                f"| {kind[5:]} | {size} KiB | {user[name] / trusted[name]:.3f}"
                f" | {user[name] / direct[name]:.3f} | {PAPER[kind]} |"
            )


def real_programs(machine: Machine) -> None:
    """Whole runs, from start to end, the second of two."""
    print("\n| whole run, million instructions | user mode | kernel mode | ratio |\n| --- | --- | --- | --- |")
    for what, (program, arguments) in REAL.items():
        spent = []
        for place in ("/usr/bin", kml.TRUSTED):
            command = f"{place}/{program} {arguments}"
            machine.run(command, timeout=600)
            text = machine.run(f"bash -c 'TIMEFORMAT=%R; time \"$@\" >/dev/null' time {command}", timeout=600).output
            # the clock of the machine: a nanosecond is an instruction
            spent.append(float(re.findall(r"^(\d+\.\d+)\s*$", text, re.MULTILINE)[-1]) * 1000)
        user, trusted = spent
        print(f"| {what} | {user:.1f} | {trusted:.1f} | {trusted / user:.2f} |")


def main() -> int:
    """1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.12", choices=("6.12", "6.1"))
    parser.add_argument("--demo", action="store_true", help="Redis in kernel mode beside Redis in user mode, instead")
    arguments = parser.parse_args()
    if arguments.demo:
        kml_demo.show()
        return 0
    with kml.make(kernel=arguments.kernel, icount=True) as machine:
        kml.prepare(machine)
        machine.run("modprobe brd rd_nr=1 rd_size=65536 && mkfs.ext4 -q /dev/ram0 && mount /dev/ram0 /mnt")
        user = values(machine.run(f"{kml.PROGRAMS}/kml_bench /mnt", timeout=600).output)
        trusted = values(machine.run(f"{kml.TRUSTED}/kml_bench /mnt", timeout=600).output)
        direct = values(machine.run(f"{kml.TRUSTED}/kml_bench /mnt direct", timeout=600).output)
        if int(kml.status(machine)["trusted"]) < 2:
            raise RuntimeError("the programs below the trusted directory were not trusted")
        print(f"\nLinux {machine.versions[arguments.kernel]}\n")
        met = single_calls(user, trusted, direct)
        files(user, trusted, direct)
        real_programs(machine)
        kml.assert_clean(machine)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
