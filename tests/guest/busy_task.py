#!/usr/bin/python3
"""Want a part of each period of a CPU before all other tasks: busy_task.py CPU PART PERIOD_MS END.

Until there is a file END.  It is never in the kernel while others wait for it.
"""

import os
import sys
import time

cpu, part, period = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]) / 1000
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
begin = time.monotonic()
while not os.path.exists(sys.argv[4]):
    while time.monotonic() - begin < part * period:
        pass
    begin += period
    # one that came late waits for the next period, as a budget does
    time.sleep(max(0.0, begin - time.monotonic()))
