"""``shimos-oci``: containers of Debian's podman, each on a stock kernel of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.stage.containers import ROOT, bundle, end_pool, image, pool, prepare
from lab.stage.devices import until_unserved
from lab.stage.partitions import PROGRAMS, Resources, refused
from tests.support.terminals import follows_size
from tests.support.tiers import REPETITION, late, rounds

#: Of a container that is called so.
PARTITION = f"$(grep -ho 'oci-[0-9a-z-]*' {ROOT}/$(podman inspect -f '{{{{.Id}}}}' c)/container.json | head -1)"


class Podman:
    """Debian's podman, with our runtime or with crun."""

    def __init__(self, machine: Machine, runtime: str, flavour: str):
        """Take a machine that is prepared, and the kernel that containers have."""
        self._command = f"podman --cgroup-manager=cgroupfs --runtime {runtime}"
        kernel = f"--annotation org.shimos.kernel={machine.vmlinux(flavour)} --annotation org.shimos.memory=288M"
        self._make = kernel if "shimos" in runtime else ""
        self.machine = machine

    def line(self, command: str, *words: str) -> str:
        """Return a command line."""
        more = [self._make] if command in ("run", "create") else []
        alone = ["--network none"] if more and not any("--network" in word or "--pod" in word for word in words) else []
        return " ".join([self._command, command, *more, *alone, *words])

    def output(self, command: str, *words: str) -> str:
        """Run a command and return its output, without the end of the last line."""
        return self.machine.run(self.line(command, *words), timeout=180).output.strip()

    def fails(self, status: int, command: str, *words: str) -> None:
        """Check the exit code of a command."""
        result = self.machine.run(self.line(command, *words), check=False, timeout=180)
        assert result.status == status, f"{words}: {result.status}\n{result.output}"


@contextmanager
def podman(machine: Machine, flavour: str) -> Iterator[Podman]:
    """Prepare the machine; nothing of a container is left at the end."""
    prepare(machine)
    image(machine)
    before = Resources(machine)
    yield Podman(machine, "shimos", flavour)
    until_unserved(machine)
    assert machine.run(f"grep -c {ROOT} /proc/mounts; ls {ROOT}", check=False).output.split() == ["0"]
    # the partitions' small root is kept, in memory
    machine.run(f"rm -rf {ROOT}/.initrd")
    before.assert_back()
    machine.assert_dmesg_clean()


def ends(containers: Podman) -> None:
    """Check how a program ends, and what is said of one that does not begin."""
    for status, options, words in (
        (7, "", "sh -c 'exit 7'"),
        (127, "", "no-such-program"),
        (126, "", "/etc"),
        # the limit of its memory is not its kernel's end
        (137, "--memory 32m", "dd if=/dev/zero of=/dev/shm/file bs=1M count=100"),
    ):
        containers.fails(status, "run", f"--rm {options} busybox", words)


def a_container(containers: Podman, version: str) -> None:
    """Check what is done with one that runs: exec, signals, logs, pause, copies."""
    machine = containers.machine
    machine.run("mkdir -p /tmp/volume && echo from the host >/tmp/volume/file")
    machine.run("modprobe fuse")
    script = "'trap \"echo ended; exit 5\" TERM; echo begun; echo bad >&2; while :; do sleep 0.1; done'"
    containers.output(
        "run", "-d --name c -v /tmp/volume:/volume -e WORD=good --device /dev/fuse --user 5 busybox sh -c", script
    )
    machine.run("until podman logs c 2>&1 | grep begun; do sleep 0.2; done", timeout=60)
    run = "exec c"
    assert containers.output(run, "uname -r") == version
    assert containers.output(run, "sh -c 'echo $WORD; id -u; cat /volume/file'") == "good\n5\nfrom the host"
    containers.output("exec --user 0 c sh -c 'exec 3<>/dev/fuse'")
    containers.fails(9, run, "sh -c 'exit 9'")
    containers.fails(127, run, "no-such-program")
    assert machine.run(f"echo to and fro | {containers.line('exec -i c cat')}").output == "to and fro\n"
    assert containers.output("exec -t c tty").startswith("/dev/pts/")
    follows_size(machine, containers.line("exec -it c"))
    containers.output("exec --user 0 c sh -c 'echo from within >/volume/other; echo root >/file'")
    assert machine.run("cat /tmp/volume/other").output == "from within\n"
    containers.output("cp c:/file /tmp/copied")
    assert machine.run("cat /tmp/copied").output == "root\n"
    # its programs are not the host's
    assert machine.run("pgrep -x sleep", check=False).status != 0
    assert len(containers.output("top c").splitlines()) >= 1
    assert containers.output(run, "cat /sys/fs/cgroup/memory.max") == "max"
    containers.output("update --memory 64m c")
    assert containers.output(run, "cat /sys/fs/cgroup/memory.max") == str(64 << 20)
    refused(machine, containers.line("update --cpus 2 c"), "whole CPUs of its own")
    used(containers)
    containers.output("pause c")
    assert json.loads(machine.run("shimos-oci list -f json").output)[0]["status"] == "paused"
    containers.output("unpause c")
    containers.output("stop -t 20 c")
    # who follows it sees its end
    machine.run("while pgrep -x shimos-oci; do sleep 0.1; done; tail -n 1 /tmp/events | grep '\"stats\"'", timeout=60)
    assert containers.output("inspect -f '{{.State.ExitCode}}' c") == "5"
    assert containers.output("logs c 2>/dev/null") == "begun\nended"
    containers.output("rm c")
    machine.run("rm -rf /tmp/volume /tmp/copied /tmp/events")


def used(containers: Podman) -> None:
    """Check what is said of a container's use, once and until its end: it may have 64 MiB."""
    machine = containers.machine
    # tail keeps all of it in memory
    containers.fails(137, "exec c", "sh -c 'head -c 100000000 /dev/zero | tail -c 90000000'")
    name = containers.output("inspect -f '{{.Id}}' c")
    oom, stats = [json.loads(line) for line in machine.run(f"shimos-oci events --stats {name}").lines]
    assert oom == {"type": "oom", "id": name}
    data = stats["data"]
    assert data["cpu"]["usage"]["total"] > 0 and data["pids"]["current"] >= 1, stats
    usage = data["memory"]["usage"]
    assert 0 < usage["usage"] <= usage["limit"] == 64 << 20, stats
    machine.run(f"shimos-oci events --interval 0.2 {name} >/tmp/events & until [ -s /tmp/events ]; do sleep 0.1; done")


def streams(containers: Podman) -> None:
    """Check that input comes back unchanged, to its end."""
    machine = containers.machine
    machine.run(f"head -c {rounds(1 << 30, 8 << 20)} /dev/urandom >/tmp/data")
    run = containers.line("run", "--rm -i busybox sh -c 'sleep 1; cat'")
    machine.run(f"{run} </tmp/data | cmp - /tmp/data; rm /tmp/data", timeout=rounds(900, 180))


def until_served(machine: Machine, address: str) -> None:
    """Wait until somebody listens there for HTTP."""
    machine.run(f"until curl -s http://{address}/ -o /dev/null; [ $? != 7 ]; do sleep 0.1; done", timeout=60)


def network(containers: Podman) -> None:
    """Check that a container is reached at its address, and reaches the host, by podman's own bridge."""
    machine = containers.machine
    machine.run("mkdir -p /tmp/volume && head -c 3000000 /dev/urandom >/tmp/volume/file")
    containers.output("run", "-d --name c --network podman -v /tmp/volume:/srv busybox httpd -f -p 80 -h /srv")
    of = "inspect -f '{{.NetworkSettings.%s}}' c"
    address, gateway = containers.output(of % "IPAddress"), containers.output(of % "Gateway")
    assert f"inet {address}/16" in containers.output("exec c ip address show dev eth0")
    until_served(machine, address)
    machine.run(f"curl -s http://{address}/file | cmp - /tmp/volume/file", timeout=60)
    machine.run(f"busybox httpd -p {gateway}:8000 -h /tmp/volume")
    wget = containers.line(f"exec c wget -q -O - http://{gateway}:8000/file")
    machine.run(f"{wget} | cmp - /tmp/volume/file", timeout=60)
    machine.run("pkill -x busybox; rm -rf /tmp/volume")
    containers.output("rm -f -t 0 c")


#: What docker does: the network comes to a container that is there.
_HOOK = """\
#!/bin/sh
pid=$(sed 's/.*"pid": *\\([0-9]*\\).*/\\1/' | grep -m 1 .)
ip link add late0 type veth peer name eth0 netns $pid
ip address add 10.77.0.1/24 dev late0
ip link set late0 up
nsenter --net=/proc/$pid/ns/net ip address add 10.77.0.2/24 dev eth0
nsenter --net=/proc/$pid/ns/net ip link set eth0 up
"""


def late_network(containers: Podman) -> None:
    """Check that a container is reached whose network a hook has set up after `create`."""
    machine = containers.machine
    machine.put("/tmp/hook", _HOOK.encode(), 0o755)
    hooks = '"hooks": {"prestart": [{"path": "/tmp/hook"}]}, '
    bundle(machine, '"httpd", "-f", "-p", "80", "-h", "/bin"', more=hooks)
    machine.run("shimos-oci create --bundle /tmp/b c </dev/null >/tmp/create 2>&1; cat /tmp/create", timeout=120)
    machine.run("shimos-oci start c")
    until_served(machine, "10.77.0.2")
    machine.run("curl -s http://10.77.0.2/busybox | cmp - /bin/busybox", timeout=60)
    machine.run("shimos-oci delete --force c && rm -r /tmp/b /tmp/hook /tmp/create")


def users(containers: Podman) -> None:
    """Check that a container's users are others on the host, in its processes, its files and its network."""
    machine = containers.machine
    machine.run("mkdir -p /tmp/volume && chmod 777 /tmp/volume")
    words = "sh -c 'id -u; cut -c 1-40 /proc/self/uid_map; echo x >/volume/file; httpd -f -p 80 -h /volume'"
    options = "-d --name c --uidmap 0:100000:65536 --network podman -v /tmp/volume:/volume"
    containers.output("run", options, "busybox", words)
    address = containers.output("inspect -f '{{.NetworkSettings.IPAddress}}' c")
    until_served(machine, address)
    assert machine.run(f"curl -s http://{address}/file").output == "x\n"
    assert containers.output("logs c").split() == ["0", "0", "100000", "65536"]
    assert machine.run("stat -c %u /tmp/volume/file").output == "100000\n"
    assert containers.output("exec c id -u") == "0"
    containers.output("rm -f -t 0 c")
    machine.run("rm -r /tmp/volume")


def panic(containers: Podman) -> None:
    """Check that a panic ends a container within 2 s, with what its kernel said in its log."""
    machine = containers.machine
    # its own kernel's, not the host's
    crash = "until [ -e /volume/go ]; do :; done; echo c >/proc/sysrq-trigger"
    options = "-v /tmp/volume:/volume --security-opt unmask=/proc/sysrq-trigger"
    machine.run("mkdir -p /tmp/volume")
    containers.output("run", f"-d --name c {options} busybox sh -c '{crash}'")
    proxy = containers.output("inspect -f '{{.State.Pid}}' c")
    uptime = "read now rest </proc/uptime; echo $now"
    watch = f"touch /tmp/volume/go; {uptime}; while [ -e /proc/{proxy} ]; do :; done; {uptime}"
    begin, end = map(float, machine.run(watch, timeout=60).lines)
    assert end - begin < 2, (begin, end)
    assert containers.output("wait c") == "125"
    assert "Kernel panic - not syncing: sysrq triggered crash" in containers.output("logs c 2>&1")
    containers.output("rm c")
    machine.run("rm -r /tmp/volume")


def hang(containers: Podman) -> None:
    """Check that a container can be killed whose kernel runs nothing else any more: 6.1 lets one program do that."""
    machine = containers.machine
    spin = "'echo -1 >/proc/sys/kernel/sched_rt_runtime_us && exec /hang'"
    options = f"-v {PROGRAMS}/hang:/hang --cap-add SYS_NICE --security-opt unmask=ALL"
    containers.output("run", f"-d --name c {options} busybox sh -c", spin)
    asks = f"shimos exec {PARTITION} -- /bin/shimos --version </dev/null 2>&1"
    machine.run(f"until {asks} | grep 'nobody answers'; do sleep 0.1; done", timeout=60)
    refused(machine, "podman kill --signal TERM c", "nobody answers")
    machine.run("podman kill c", timeout=60)
    assert containers.output("wait c") == "137"
    containers.output("rm c")


def deaths(containers: Podman) -> None:
    """Check that a killed program, its kernel's end and a killed proxy end a container, and leave nothing."""
    machine = containers.machine
    panic(containers)
    hang(Podman(machine, "shimos", "6.1"))
    for kill, status in (
        ("podman kill c", 137),
        (f"shimos kill {PARTITION}", 125),
        ("kill -9 $(podman inspect -f '{{.State.Pid}}' c)", 137),
    ):
        containers.output("run", "-d --name c busybox sleep 1000")
        machine.run(kill)
        assert containers.output("wait c") == str(status), kill
        containers.output("rm -f c")
        assert machine.run("shimos ls --quiet").output == "", kill


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_containers(machine: Machine, flavour: str) -> None:
    """A life's parts, one after the other on one machine."""
    with podman(machine, flavour) as containers:
        ends(containers)
        a_container(containers, machine.versions[flavour])


def test_traffic_and_deaths(machine: Machine) -> None:
    """Apart from the others, so that both can run at the same time."""
    with podman(machine, "6.12") as containers:
        streams(containers)
        network(containers)
        late_network(containers)
        users(containers)
        deaths(containers)


@late("how soon a container begins, not how it runs")
def test_pool(machine: Machine) -> None:
    """A container takes a partition that waits, which is gone with it and replaced; else it starts one."""
    waits = "grep -q oci-warm-{} /run/shimos-oci/.pool/ready/*"
    with podman(machine, "6.12") as containers:
        online = machine.online_cpus()
        pool(machine, "1-3")
        machine.run(f"until {waits.format(1)}; do sleep 0.1; done", timeout=120)
        refused(machine, "shimos pool drain", "keeps the pool already", "systemctl stop shimos-pool")
        # with a network that the partition did not have, a volume, and beside it one that finds none waiting
        machine.run("mkdir -p /tmp/volume && echo from the host >/tmp/volume/file")
        words = ("busybox httpd -f -p 80 -h /srv",)
        containers.output("run", "-d --name c --network podman -v /tmp/volume:/srv:ro", *words)
        assert machine.run(f"echo {PARTITION}").output == "oci-warm-1\n"
        address = containers.output("inspect -f '{{.NetworkSettings.IPAddress}}' c")
        until_served(machine, address)
        assert machine.run(f"curl -s http://{address}/file").output == "from the host\n"
        assert containers.output("exec c uname -r") == machine.versions["6.12"]
        machine.run(f"until {waits.format(2)}; do sleep 0.1; done", timeout=120)
        listed = json.loads(machine.run("shimos pool ls --json").output)["pool"]
        assert [(slot["name"], slot["container"] is None) for slot in listed] == [
            ("oci-warm-2", True),
            ("oci-warm-1", False),
        ]
        refused(machine, f"{containers.line('run')} --rm --cpuset-cpus 0-1 busybox true", "CPU 0 is not for containers")
        # one of two CPUs finds one only
        refused(machine, f"{containers.line('run')} --rm --cpus 2 busybox true", "among CPUs 1-3")
        containers.output("rm -f -t 0 c")
        # killed, it leaves what waits, and what it was making; the next one keeps that
        machine.run("kill -9 $(cat /tmp/keep.pid); mkdir /run/shimos-oci/.pool/oci-warm-9")
        machine.run("rm -f /tmp/keep; shimos pool keep >/tmp/keep 2>&1 & echo $! >/tmp/keep.pid")
        machine.run("while [ -e /run/shimos-oci/.pool/oci-warm-9 ]; do sleep 0.1; done", timeout=60)
        machine.run(f"{waits.format(2)} && ! grep . /tmp/keep")
        assert containers.output("run", "--rm busybox cat /proc/sys/kernel/osrelease") == machine.versions["6.12"]
        end_pool(machine)
        assert machine.run("shimos ls --quiet").output == ""
        assert machine.online_cpus() == online
        machine.run("rm -rf /etc/shimos/oci.toml /run/shimos-oci/.pool /tmp/volume /tmp/keep*")


@late("several on one kernel; other tests have one")
def test_pod(machine: Machine) -> None:
    """Several containers on one kernel: they share network, host name and memory, and each has files of its own."""
    with podman(machine, "6.12") as containers:
        infra = "--infra-image busybox --infra-command 'sleep 10000'"
        containers.output(f"pod create --name p --network none --hostname together {infra}")
        containers.output("run", "-d --pod p --name c busybox httpd -f -p 80 -h /etc")
        assert machine.run("shimos ls --quiet").lines == machine.run("shimos ls --quiet | sort -u").lines
        assert len(machine.run("shimos ls --quiet").lines) == 1
        containers.output("exec c sh -c 'echo of all >/dev/shm/file; echo of one >/file'")
        get = "until wget -q -O - http://127.0.0.1/passwd; do sleep 0.1; done; hostname; cat /dev/shm/file; ls /file"
        result = machine.run(containers.line("run", f"--rm --pod p busybox sh -c '{get}'"), check=False, timeout=120)
        passwd, host, file, *more = result.lines
        assert (passwd, host, file) == ("root:x:0:0:root:/:/bin/sh", "together", "of all"), result.output
        assert "No such file" in more[0] and result.status == 1
        # the one that has ended is gone there, too
        names = f"shimos exec $(shimos ls --quiet) -- crun list -q </dev/null; ls {ROOT}/*/share/members"
        assert len(machine.run(names).lines) == 3
        containers.output("pod rm -f -t 0 p")
        assert machine.run("shimos ls --quiet").output == ""
        by_annotations(containers)


def by_annotations(containers: Podman) -> None:
    """Check that containers share a kernel whose annotations say so, as containerd's do."""
    machine = containers.machine
    of_pod = '"io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.sandbox-id": "first", '
    for name, words, more in (("first", '"sleep", "1000"', ""), ("second", '"uname", "-n"', of_pod)):
        bundle(machine, words, more)
        machine.run(f"shimos-oci create --bundle /tmp/b {name} </dev/null >/tmp/{name} 2>&1", timeout=120)
        machine.run(f"shimos-oci start {name}")
    assert len(machine.run("shimos ls --quiet").lines) == 1
    machine.run("until shimos-oci state second | grep stopped; do sleep 0.1; done", timeout=60)
    assert machine.run("cat /tmp/second").output == "crun\n"
    machine.run("shimos-oci delete second && shimos-oci delete --force first && rm -r /tmp/b /tmp/first /tmp/second")


@late("one of many ends")
def test_killed_while_it_is_made(machine: Machine) -> None:
    """`create` killed at any moment leaves nothing that `delete` does not take away."""
    with podman(machine, "6.12"):
        bundle(machine, '"true"')
        chance = random.Random(20)
        for _ in range(rounds(40, 4)):
            # The moments are the test's subject, not a wait for an event.
            create = f"shimos-oci create --bundle /tmp/b c >/tmp/create 2>&1 & sleep {chance.uniform(0, 5):.2f}"
            machine.run(f"{create}; kill -9 $!; wait; shimos-oci delete --force c", timeout=120)
            # what `shimos run` takes back comes when it does
            all_back = '[ -z "$(shimos ls --quiet)" ] && [ $(cat /sys/devices/system/cpu/online) = 0-3 ]'
            machine.run(f"until {all_back}; do sleep 0.05; done")
            assert machine.run("shimos-oci list --quiet").output == ""
        # and one more, to its end
        machine.run("shimos-oci create --bundle /tmp/b c </dev/null >/tmp/create", timeout=120)
        refused(machine, "shimos-oci create --bundle /tmp/b c", "a container 'c' exists already", "delete c")
        machine.run("shimos-oci start c; until shimos-oci state c | grep stopped; do sleep 0.1; done", timeout=60)
        refused(machine, "shimos-oci kill c", "container 'c' is stopped, not created or running")
        refused(machine, "shimos-oci start c", "not running")
        machine.run("shimos-oci delete c && rm -rf /tmp/b /tmp/create")


def test_refusals(machine: Machine) -> None:
    """Each thing that cannot be had has a text of its own, and nothing is left of the container."""
    with podman(machine, "6.12") as containers:
        # the other texts are the tool's own tests'
        for options, words in (
            ("--privileged", "the whole machine"),
            ("--cpuset-cpus 0", "CPU 0"),
            ("--annotation org.shimos.kernel=9.9", "/boot/vmlinuz-9.9"),
        ):
            refused(machine, f"{containers.line('run')} --rm {options} busybox true", words)
        refused(machine, "shimos-oci state none", "there is no container 'none'")
        refused(machine, "shimos-oci create --preserve-fds 1 none", "open files do not reach")
