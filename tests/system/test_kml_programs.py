"""Real programs in kernel mode: the same results as in user mode, to the last byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import KERNEL, PROGRAMS, USER
from lab.stage.kml_programs import redis, same, sqlite
from lab.stage.partitions import WAIT_FOR
from tests.support import tiers
from tests.support.tiers import late

pytestmark = late("large programs; test_kml.py has small ones")

#: Of Python's own tests those that ask the kernel for something and, under emulation, take seconds.
PYTHON_TESTS = {
    "files": "test_mmap.MmapTests test_fcntl test_os.FileTests test_os.StatAttributeTests test_os.MemfdCreateTests"
    " test_os.TestSendfile test_os.EventfdTests test_os.TestScandir",
    "sockets": "test_socket.BasicTCPTest test_socket.BasicUDPTest test_socket.RecvmsgSCMRightsStreamTest"
    " test_socket.SendmsgTCPTest test_socket.TestUnixDomain test_socket.SendfileUsingSendfileTest test_select test_epoll",
    "threads and signals": "test_threading.LockTests test_threading.CRLockTests test_queue.CSimpleQueueTest"
    " test_signal.PosixTests test_signal.RaiseSignalTest test_signal.PidfdSignalTest test_json.test_scanstring",
    "processes": "test_subprocess.ContextManagerTests test_os.PidTests test_os.ForkTests test_wait4"
    " test_posix.PosixGroupsTester",
}

NGINX = """
user {user}; worker_processes 2; pid /tmp/nginx.pid; error_log /tmp/nginx.error;
events {{ worker_connections 64; }}
http {{ access_log off; sendfile {sendfile}; server {{ listen 127.0.0.1:8080; root /tmp/site; }} }}
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the machines for each test: Python's own tests take long and run on one only."""
    both = metafunc.function.__name__ != "test_python"
    tiers.on_machines(metafunc, ["6.12", "6.1"] if both else ["6.12"], {})


@pytest.fixture(scope="module")
def make_machine(request: pytest.FixtureRequest) -> Callable[[], Machine]:
    """Return what starts a machine with a root of real programs, all of them trusted."""

    def make() -> Machine:
        machine = kml.make(**kml.MACHINES[request.param], disks=[kml.ROOT_DISK]).start()
        kml.mount_root(machine)
        machine.run("modprobe shimos_kml")
        return machine

    return make


@pytest.fixture(autouse=True)
def _clean(machine: Machine) -> Iterator[None]:
    yield
    kml.assert_nothing_left(machine)


def tasks(machine: Machine) -> int:
    return int(kml.status(machine)["tasks"])


def test_bash(machine: Machine) -> None:
    """Pipes, signals, coprocesses, jobs and limits."""
    # the programs have a root of their own, which shares /tmp
    machine.run(f"cp {PROGRAMS}/shell_features.bash /tmp/")
    out = same(machine, "bash /tmp/shell_features.bash").splitlines()
    assert {"signal 20", "34", "143", "7", "here 5"} <= set(out), out


def test_sqlite(machine: Machine) -> None:
    """Run a script in both modes: the same answers and the same file."""
    sqlite(machine)


#: Threads and signals are in the tests of bash and redis, too.
@pytest.mark.parametrize(
    "of",
    ["files", *(pytest.param(of, marks=tiers.REPETITION) for of in ("threads and signals", "sockets", "processes"))],
)
@tiers.rare("test_bash and test_redis are such programs")
def test_python(machine: Machine, of: str) -> None:
    """Each of its tests ends as in user mode, and none of them fails."""
    machine.run(f"cp {PROGRAMS}/run_unittests.py /tmp/")
    run = f"python3.13 /tmp/run_unittests.py /tmp/ended {PYTHON_TESTS[of]} >/tmp/out 2>&1"
    ended = same(machine, f"sh -c '{run}; echo $?; cat /tmp/ended'").splitlines()
    bad = [line for line in ended if "BAD" in line]
    assert ended[0] == "0" and not bad, bad
    assert len(ended) > 15


def test_redis(machine: Machine) -> None:
    """Compare both modes: the same data after redis-benchmark, a script, a save by a forked child, and loading that."""
    user, measured = redis(machine, USER)
    assert len(measured) > 12
    assert redis(machine, KERNEL) == (user, measured)
    assert user[:2] == user[2:4] and int(user[1]) > 5


def nginx(machine: Machine, mode: str, user: str, sendfile: str) -> list[str]:
    """Return checksums of what nginx serves, while wrk finds no error; it ends cleanly."""
    machine.put("/tmp/nginx.conf", NGINX.format(user=user, sendfile=sendfile).encode())
    machine.run(f"{mode} nginx -c /tmp/nginx.conf")
    expected = {USER: 0, KERNEL: 3 if user == "root" else 1}[mode]
    assert tasks(machine) == expected, "a master and two workers"
    fetch = "for f in small large; do curl -sS http://127.0.0.1:8080/$f | sha256sum; done; curl -sSI http://127.0.0.1:8080/none"
    out = [line for line in machine.run(fetch).lines if "Date" not in line]
    wrk = machine.run(f"{USER} wrk -t 1 -c 8 -d 1s --timeout 10s http://127.0.0.1:8080/small").output
    assert "Requests/sec" in wrk and "Socket errors" not in wrk and "Non-2xx" not in wrk, wrk
    assert int(re.findall(r"(\d+) requests in", wrk)[0]) > 10
    pid = machine.run("cat /tmp/nginx.pid").output.strip()
    machine.run(f"kill -QUIT {pid}; {WAIT_FOR} exit {pid}")
    log = machine.run("cat /tmp/nginx.error; rm /tmp/nginx.error").output
    assert not re.search(r"\[(alert|crit|emerg|error)\](?!.*No such file)", log), log
    return out


@pytest.mark.parametrize("user", ["root", "www-data"])
def test_nginx(machine: Machine, user: str) -> None:
    """Root's workers are trusted; those of another user are not, after they became that."""
    machine.run("mkdir -p /tmp/site && seq 100 >/tmp/site/small && seq 200000 >/tmp/site/large")
    there = [machine.run(f"sha256sum </tmp/site/{file}").output.strip() for file in ("small", "large")]
    served = nginx(machine, USER, user, "on")
    assert served[:2] == there and "404" in served[2]
    assert nginx(machine, KERNEL, user, "off" if user == "root" else "on") == served
