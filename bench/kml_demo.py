"""Redis in kernel mode beside Redis in user mode: `bench/kml --demo`.

Two servers from the same file run at the same time, one of them trusted.  The same
redis-benchmark, an ordinary program, asks the one and then the other.
"""

from __future__ import annotations

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml_programs import start_redis

REQUESTS = 5000
CLIENTS = 10
#: What redis-benchmark calls it, and how many requests it sends at once.
WORK = (("ping_inline", 1), ("set", 1), ("get", 1), ("incr", 1), ("lpush", 1), ("get", 16))
PORTS = {"user mode": 7001, "kernel mode": 7002}


def spent(machine: Machine, pid: str) -> int:
    """Return nanoseconds that its threads ran: on this machine as many instructions."""
    return sum(int(line.split()[0]) for line in machine.run(f"cat /proc/{pid}/task/*/schedstat").lines)


def measure(machine: Machine, port: int, pid: str, test: str, at_once: int) -> tuple[float, float]:
    """Return requests per second, and instructions of the server for each."""
    before = spent(machine, pid)
    command = f"redis-benchmark -p {port} -n {REQUESTS} -c {CLIENTS} -P {at_once} -t {test} --csv"
    out = machine.run(f"{kml.USER} {command} 2>/dev/null", timeout=600).lines
    return float(out[-1].split(",")[1].strip('"')), (spent(machine, pid) - before) / REQUESTS


def show() -> None:
    """Measure and print, once for all tests."""
    with kml.make(icount=True, cpus=1, disks=[kml.ROOT_DISK]) as machine:
        kml.mount_root(machine)
        machine.run("modprobe shimos_kml")
        modes = zip(PORTS.items(), (kml.USER, kml.KERNEL), strict=True)
        pids = {name: start_redis(machine, mode, port) for (name, port), mode in modes}
        print(f"\nLinux {machine.versions['6.12']}, unmodified redis-server twice:\n")
        print(machine.run("shimos trust status").output)
        print(
            "| requests | at once | user mode, 1/s | kernel mode, 1/s | ratio"
            " | instructions of the server: user mode | kernel mode | ratio |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |"
        )
        for test, at_once in WORK:
            for port in PORTS.values():  # the first time is another matter
                machine.run(f"{kml.USER} redis-benchmark -p {port} -n 500 -t {test} -q", timeout=600)
            (user, user_spent), (trusted, trusted_spent) = (
                measure(machine, port, pids[name], test, at_once) for name, port in PORTS.items()
            )
            print(
                f"| {test} | {at_once} | {user:.0f} | {trusted:.0f} | {trusted / user:.2f}"
                f" | {user_spent:.0f} | {trusted_spent:.0f} | {trusted_spent / user_spent:.2f} |"
            )
        kml.assert_clean(machine)
