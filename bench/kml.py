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
from lab.stage.samples import FEWEST, Samples, Verdict, judge

Measured = dict[str, Samples]

#: The issue's aim for getpid by direct call.
GETPID = 0.35

#: Without the thread that would go on zeroing inode tables for a while after the mount.
MKFS = "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0"

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
    """Read `name value` lines."""
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


def repeat(machine: Machine, times: int) -> list[Measured]:
    """Measure in user mode, in kernel mode, and there by direct calls; all in turn, so that none has a time of its own."""
    commands = [
        f"{kml.PROGRAMS}/kml_bench /mnt",
        f"{kml.TRUSTED}/kml_bench /mnt",
        f"{kml.TRUSTED}/kml_bench /mnt direct",
    ]
    rounds = [[values(machine.run(command, timeout=600).output) for command in commands] for _ in range(times)]
    return [
        {name: Samples.of([one[way][name] for one in rounds]) for name in rounds[0][way]}
        for way in range(len(commands))
    ]


def single_calls(user: Measured, trusted: Measured, direct: Measured) -> Verdict:
    """Print instructions per call, medians with the least and the most; returns the verdict on getpid."""
    verdict = judge(user["getpid"], direct["getpid"], GETPID)
    print("| instructions | user mode | kernel mode | ratio | direct call | ratio | aim | paper |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in (n for n in user if not n.startswith("file_")):
        aim = verdict.text if name == "getpid" else ""
        anchor = user[name].median
        print(
            f"| {name.replace('_', ' ')} | {user[name]} | {trusted[name]} | {trusted[name].median / anchor:.2f}"
            f" | {direct[name]} | {direct[name].median / anchor:.2f} | {aim} | {PAPER.get(name, '')} |"
        )
    return verdict


def files(user: Measured, trusted: Measured, direct: Measured) -> None:
    """Print throughput of whole files, as a factor of user mode's; medians, and how far user mode's samples lie apart."""
    kinds = ("file_write", "file_rewrite", "file_read", "file_reread")
    print("\n| throughput, 8 KiB at a time, user mode = 1 | file | kernel mode | direct calls | spread | paper |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in kinds:
        for name in (n for n in user if n.startswith(f"{kind}_")):
            size = name.rpartition("_")[2]
            anchor = user[name].median
            print(
                f"| {kind[5:]} | {size} KiB | {anchor / trusted[name].median:.3f}"
                f" | {anchor / direct[name].median:.3f} | {user[name].spread:.0%} | {PAPER[kind]} |"
            )


def real_programs(machine: Machine) -> None:
    """Measure whole runs, from start to end, the second of two."""
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
    """Measure and print; 1 if an aim is missed, 2 if the anchor does not stand still."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.12", choices=("6.12", "6.1"))
    parser.add_argument("--demo", action="store_true", help="Redis in kernel mode beside Redis in user mode, instead")
    parser.add_argument("--samples", type=int, default=7, help=f"at least {FEWEST} (7)")
    arguments = parser.parse_args()
    if arguments.samples < FEWEST:
        parser.error(f"--samples: at least {FEWEST}")
    if arguments.demo:
        kml_demo.show()
        return 0
    # One CPU: while instructions are counted, those of all CPUs move the one clock, so that what
    # another CPU does meanwhile would be charged to the program that is measured.
    with kml.make(kernel=arguments.kernel, icount=True, cpus=1) as machine:
        kml.prepare(machine)
        machine.run(f"modprobe brd rd_nr=1 rd_size=65536 && {MKFS} /dev/ram0 && mount /dev/ram0 /mnt")
        user, trusted, direct = repeat(machine, arguments.samples)
        if int(kml.status(machine)["trusted"]) < 2:
            raise RuntimeError("the programs below the trusted directory were not trusted")
        print(f"\nLinux {machine.versions[arguments.kernel]}; medians of {arguments.samples} samples (least to most)\n")
        verdict = single_calls(user, trusted, direct)
        files(user, trusted, direct)
        real_programs(machine)
        kml.assert_clean(machine)
    print(f"\ngetpid by direct call: {verdict.text}")
    return verdict.status


if __name__ == "__main__":
    sys.exit(main())
