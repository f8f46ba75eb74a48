#!/usr/bin/python3
"""Fork a worker that becomes another user, as servers do, and print how it ended."""

import os

pid = os.fork()
if not pid:
    os.setuid(1000)
    sum(range(10**5))
    os._exit(os.system("exit 3") >> 8)  # noqa: S605
print(os.waitstatus_to_exitcode(os.wait()[1]))
