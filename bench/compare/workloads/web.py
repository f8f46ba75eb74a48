"""A web server on two kernels, asked from outside of the machine; and beside a compiler."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from bench.compare.system import Kernel, System
from bench.compare.workload import Group, Workload
from bench.compare.workloads.build import compile_it

_START = (
    "(fcgiwrap -c 4 -s unix:/tmp/fcgi.sock >/dev/null 2>&1 &) && until [ -S /tmp/fcgi.sock ]; do sleep 0.02; done"
    " && nginx -c /bench/nginx.conf"
)
_STOP = "pkill -x nginx; pkill -x fcgiwrap; while pgrep -x nginx; do sleep 0.05; done; rm -f /tmp/fcgi.sock"


@contextmanager
def served(system: System, kernels: list[Kernel]) -> Iterator[list[str]]:
    """Run nginx on these kernels; yields where it is reached from here."""
    distinct = list({k.name: k for k in kernels}.values())
    for kernel in distinct:
        kernel.run(_START)
    try:
        # Native Linux serves both on ports of its own.
        ports = [80 + (number if len(distinct) < len(kernels) else 0) for number in range(len(kernels))]
        yield [system.machine.site(port, k.address) for port, k in zip(ports, kernels, strict=True)]
    finally:
        for kernel in distinct:
            kernel.run(_STOP)


def _rate(report: str) -> float:
    found = re.search(r"Requests per second: +([0-9.]+)", report)
    failed = re.search(r"(?:Failed requests|Non-2xx responses): +([1-9]\d*)", report)
    if not found or failed:
        raise RuntimeError(f"ab: {report}")
    return float(found[1])


def _ask(url: str, clients: int, requests: int) -> float:
    """Return requests a second, by the papers' own program."""
    command = ["ab", "-q", "-s", "120", "-l", "-c", str(clients), "-n", str(requests), url]
    return _rate(subprocess.run(command, capture_output=True, text=True, check=True, timeout=900).stdout)


def page(path: str, clients: int, requests: int) -> Callable[[System], float]:
    """Measure requests a second of both kernels together."""

    def run(system: System) -> float:
        with system.jobs(2) as kernels, served(system, kernels) as sites, ThreadPoolExecutor(2) as pool:
            count = max(2 * clients, system.count(requests))
            return sum(pool.map(lambda site: _ask(f"{site}/{path}", clients, count), sites))

    return run


def mixed(system: System) -> float:
    """Return seconds to compile on the second kernel while the first one serves dynamic pages; their rate is kept."""
    with system.jobs(2) as (first, second), served(system, [first]) as (site,):
        command = ["ab", "-q", "-s", "120", "-l", "-t", "3600", "-n", "1000000", "-c", "10", f"{site}/date"]
        asking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            seconds = compile_it(system, second)
        finally:
            asking.send_signal(signal.SIGINT)
            report, _ = asking.communicate(timeout=60)
        system.kept["mixed-web"] = _rate(report)
    return seconds


def mixed_rate(system: System) -> float:
    """Return the rate that goes with the last mixed()."""
    if "mixed-web" not in system.kept:
        mixed(system)
    return system.kept.pop("mixed-web")


GROUP = Group(
    "web",
    "Web server (nginx) on two kernels, and beside a compiler",
    (
        Workload(
            "web-static",
            "static page of 1 MB, 5 clients each",
            "1/s",
            page("megabyte", 5, 100),
            better="higher",
            paper={"shimos": "1.0", "kvm": "1.0", "xen": "1.0"},
            runs=0.6,
        ),
        Workload(
            "web-dynamic",
            "dynamic page (CGI: date), 10 clients each",
            "1/s",
            page("date", 10, 150),
            better="higher",
            paper={"shimos": "1.22", "xen": "0.26"},
            runs=0.6,
        ),
        Workload(
            "mixed-build",
            "compiling while dynamic pages are served",
            "s",
            mixed,
            paper={"shimos": "about 2"},
            long=True,
            runs=0.6,
        ),
        Workload(
            "mixed-web",
            "dynamic pages served meanwhile",
            "1/s",
            mixed_rate,
            better="higher",
            paper={"shimos": "0.9"},
            long=True,
            runs=0.6,
        ),
    ),
    (
        "Asked by ApacheBench, as in the papers, from outside of the machine through its card; the sum of both kernels,"
        " or of native Linux' two ports. Mixed: the second kernel compiles (see above), the first one serves.",
    ),
    "A page of 1 MB is bounded by the emulator's user network, one thread for all. A dynamic page is fork and exec: see"
    " the first table.",
)
