"""How much memory there is for this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path


def available() -> tuple[int, str]:
    """The bytes that can still be had, and who says so: the machine, a container's limit, or the shell's."""
    found = list(_limits())
    return min(found) if found else (2**63, "nothing says how much there is")


def _limits() -> Iterator[tuple[int, str]]:
    free = _of_meminfo() or _of_sysconf()
    if free:
        yield free, "that is what the machine has free"
    with suppress(OSError, ValueError):  # version 2 of control groups
        most, used = (int(Path("/sys/fs/cgroup", name).read_text()) for name in ("memory.max", "memory.current"))
        yield max(most - used, 0), "that is what the control group (container) may still take"
    with suppress(OSError, ValueError):  # version 1
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        most, used = (int(Path("/sys/fs/cgroup/memory", name).read_text()) for name in names)
        yield max(most - used, 0), "that is what the control group (container) may still take"
    with suppress(ImportError, OSError, ValueError):  # none of this on Windows
        resource = import_module("resource")
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(most - pages * resource.getpagesize(), 0), "that is what `ulimit -v` leaves"


def _of_meminfo() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def _of_sysconf() -> int:
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0
