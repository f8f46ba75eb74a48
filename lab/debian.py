"""Debian 13 file systems of the lab, made by mmdebstrap: the machine's and the partitions'."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab import cache, files
from lab.arch import DEFAULT, Arch
from lab.command import run

#: What tests and benchmarks of disks and networks use, on either side.
MEASURING = (
    *("e2fsprogs", "fio", "sqlite3", "stress-ng"),
    *("iproute2", "iputils-ping", "ethtool", "iperf3", "nginx-light", "curl", "xdp-tools"),
)

# stress-ng can also stress graphics cards, which takes 200 MB of compiler.
_LEFT_OUT = (
    *("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*"),
    *("/usr/lib/*/libLLVM*", "/usr/lib/*/libz3*", "/usr/lib/*/libgallium*"),
)


def tree(
    name: str,
    what: str,
    packages: tuple[str, ...],
    finish: Callable[[Path], None],
    *parts: str | bytes | Path,
    arch: Arch = DEFAULT,
) -> Path:
    """Return the cached directory ``name`` with these packages and root without a password.

    ``finish(target)`` does what is left; all that it depends on is in ``parts``.
    """
    sources = Path("/etc/apt/sources.list").read_text()
    trixie = [line for line in sources.splitlines() if "trixie" in line and "backports" not in line]

    def build(target: Path) -> None:
        run(
            "mmdebstrap",
            *(f"--variant={'minbase' if arch.native else 'extract'}", f"--architectures={arch.name}"),
            *(() if arch.native else ("--include=?essential",)),
            f"--include={','.join(packages)}",
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
            "trixie",
            target,
            *trixie,
        )
        files.write(target / "etc/resolv.conf", "")
        if arch.native:
            run("chroot", target, "passwd", "-d", "root")
        else:
            _configure(target)
        (target / "usr/lib/modules").mkdir(exist_ok=True)
        finish(target)

    key = cache.digest(*packages, *trixie, arch.name, Path(__file__), *parts)
    return cache.make(f"{name}{arch.suffix}", key, what, build)


#: What packages' scripts make, and is the same in the tool root, which is of the same release.
_AS_HERE = (
    *("etc/nsswitch.conf", "etc/profile", "etc/ssl/certs/ca-certificates.crt"),
    *(f"etc/pam.d/common-{what}" for what in ("account", "auth", "password", "session", "session-noninteractive")),
)
_ALTERNATIVES = {"awk": "mawk", "pager": "less", "which": "which.debianutils"}
#: Where nginx, which is in every root, looks for what it serves.
_NGINX = ("var/www/html", "var/log/nginx", "var/lib/nginx", "etc/nginx/sites-enabled")
#: Not in Debian's list of users, and asked for by no file of systemd's.
_USERS = ("dnsmasq",)


def _configure(target: Path) -> None:
    """Do what the scripts of unpacked packages would do, for their programs do not run here.

    It is as much as the lab wants: users, what logs them in, names of programs, and where services begin.
    """
    passwd = (target / "usr/share/base-passwd/passwd.master").read_text()
    passwd = passwd.replace("root:*:", "root::", 1)
    passwd += "".join(f"{user}:*:{900 + n}:65534::/nonexistent:/usr/sbin/nologin\n" for n, user in enumerate(_USERS))
    files.write(target / "etc/passwd", passwd)
    files.write(target / "etc/group", (target / "usr/share/base-passwd/group.master").read_text())
    run("systemd-sysusers", f"--root={target}")
    for path in _AS_HERE:
        files.write(target / path, (Path("/") / path).read_text())
    for name, program in _ALTERNATIVES.items():
        link = target / "usr/bin" / name
        if not link.exists():
            link.symlink_to(program)
    for path in _NGINX:
        (target / path).mkdir(parents=True, exist_ok=True)
    (target / "etc/nginx/sites-enabled/default").symlink_to("/etc/nginx/sites-available/default")
    # systemctl would have a program of the root look at these; all services that matter have units.
    cache.remove(target / "etc/init.d")
    run("systemctl", f"--root={target}", "preset-all")
    # Bytecode is the same on every architecture.
    library = target / "usr/lib/python3.13"
    if library.exists():
        run(
            "python3.13",
            "-m",
            "compileall",
            "-q",
            "-j0",
            "-s",
            target,
            library,
            target / "usr/lib/python3/dist-packages",
        )
