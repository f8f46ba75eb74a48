#!/usr/bin/python3
"""Stay with four threads; writes a word to /tmp/ready when they run."""

import threading
import time
from pathlib import Path

for _ in range(3):
    threading.Thread(target=time.sleep, args=(1000,)).start()
Path("/tmp/ready").write_text("yes\n")
