"""Real programs with a known result, which kernel mode must not change."""

from __future__ import annotations

import re

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import KERNEL, USER
from lab.stage.partitions import WAIT_FOR

SQL = """
pragma journal_mode = wal; pragma synchronous = full;
create table t(id integer primary key, a, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
 insert into t(a, b) select (i * 7919) % 10007, hex(i * i) || printf('%.*c', i % 50, 'x') from n;
create index x on t(b); create table u as select a % 100 as k, count(*) as n, sum(length(b)) as l from t group by k;
begin; update t set b = b || a where id % 3 = 0; delete from t where id % 5 = 0; savepoint s;
delete from t; rollback to s; commit;
select count(*), sum(a), sum(length(b)), max(b) from t; select sum(k * n), sum(l) from u;
select t.a, u.n from t join u on u.k = t.a % 100 order by t.b limit 5;
pragma wal_checkpoint(truncate); pragma journal_mode = delete; vacuum; pragma integrity_check;
"""

REDIS_WORK = (
    "redis-benchmark -p 7777 -q -n 200 -c 10 -t ping,set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset --csv",
    "redis-benchmark -p 7777 -q -n 400 -c 10 -P 16 -t set,lpush --csv",
    """redis-cli -p 7777 eval "for i = 1, 2000 do redis.call('zadd', 'z', i * i % 997, 'm' .. i) end return 1" 0""",
)


def same(machine: Machine, command: str, timeout: float = 120) -> str:
    """Run a command in user and in kernel mode; returns what it prints, which must be the same."""
    user = machine.run(f"cd /tmp; {USER} {command}", timeout=timeout, check=False)
    trusted = int(kml.status(machine)["trusted"])
    kernel = machine.run(f"cd /tmp; {KERNEL} {command}", timeout=timeout, check=False)
    assert int(kml.status(machine)["trusted"]) > trusted, "it was not in kernel mode"
    assert (kernel.status, kernel.output) == (user.status, user.output)
    return user.output


def sqlite(machine: Machine) -> None:
    """Check that SQLite's answers and its file are the same in both modes."""
    machine.put("/tmp/script.sql", SQL.encode())
    out = same(machine, "sh -c 'rm -f db*; sqlite3 -batch db </tmp/script.sql; sha256sum db; ls db*'", timeout=120)
    assert "\nok\n" in out and out.endswith("\ndb\n")


def start_redis(machine: Machine, mode: str, port: int, options: str = "") -> str:
    """Start a server in /tmp, with its log in /tmp/PORT.log; returns its process id when it answers."""
    pid, log = f"/tmp/{port}.pid", f"/tmp/{port}.log"
    server = (
        f"redis-server --port {port} --save '' --dir /tmp --daemonize yes --pidfile {pid} --logfile {log} {options}"
    )
    answers = f"{USER} redis-cli -p {port} ping 2>&1 | grep -q PONG"
    machine.run(f"cd /tmp; {mode} {server} >/tmp/{port}.start; until {answers}; do sleep 0.1; done", timeout=120)
    return machine.run(f"cat {pid}").output.strip()


def redis(machine: Machine, mode: str) -> tuple[list[str], list[str]]:
    """Load a server; returns two digests of all data, the second after saving and loading, and what was measured."""
    options = "--dbfilename redis.rdb --enable-debug-command local --appendonly no --io-threads 2"
    ask = f"{USER} redis-cli --raw -p 7777"
    digests, measured = [], []
    machine.run("rm -f /tmp/redis.rdb")
    pid = start_redis(machine, mode, 7777, options)
    trusted = machine.run(f"{kml.PROGRAMS}/kml_call tasks").output.split()
    assert (pid in trusted) == (mode == KERNEL)
    for work in REDIS_WORK:
        out = machine.run(f"{USER} {work}", timeout=120).output
        assert "rror" not in out
        measured += re.findall(r'^"(\w+)', out, re.M)
    digests += machine.run(f"{ask} debug digest; {ask} dbsize").lines
    # by a fork, whose memory is shared until written
    machine.run(f"{ask} bgsave; until {ask} info persistence | grep -q rdb_bgsave_in_progress:0; do sleep 0.1; done")
    machine.run(f"{ask} debug reload nosave")
    digests += machine.run(f"{ask} debug digest; {ask} dbsize; {ask} zrange z 100 110").lines
    machine.run(f"{ask} shutdown nosave; {WAIT_FOR} exit {pid}", check=False)
    assert "=== REDIS BUG REPORT" not in machine.run("cat /tmp/7777.log").output
    return digests, measured
