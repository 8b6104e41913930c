"""Freed memory: used again by the next arrays, and given back on request."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tensorgrad import allocator

FAULTS = """
import resource
import numpy as np

def faults(size):
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [np.ones(size, np.uint8) for _ in range(2)]
        found = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        del arrays
    return found

found = [faults(3 << 20)]
from tensorgrad import allocator
allocator.raise_thresholds()
found += [faults(3 << 20), faults(34 << 20)]
assert allocator.keep_freed_memory() is True
found.append(faults(34 << 20))
assert allocator.keep_freed_memory(False) is True
print(*found, faults(34 << 20))
"""


@pytest.mark.skipif(allocator._glibc() is None, reason="no glibc here")
def test_freed_memory_is_used_again_up_to_the_raised_thresholds_and_beyond_them_if_it_is_kept():
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    at_first, raised, large, kept, given_back = map(int, done.stdout.split())
    assert raised * 4 < at_first, done.stdout
    assert kept * 4 < min(large, given_back), done.stdout


def test_where_there_is_no_glibc_nothing_is_done(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert allocator.keep_freed_memory() is False
    allocator.raise_thresholds()


@pytest.mark.parametrize("keep", [1, None, "yes"])
def test_keep_is_true_or_false(keep):
    with pytest.raises(TypeError, match="keep is True or False"):
        allocator.keep_freed_memory(keep)


def test_where_memory_is_short_all_stays_as_it_is(monkeypatch):
    def none_left(*_):
        raise MemoryError

    monkeypatch.setattr(np, "empty", none_left)
    allocator.raise_thresholds()
