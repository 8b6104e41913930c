"""What the monitor looks for: one file a cause."""

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.checks.copied import Copied
from tensorgrad.monitoring.checks.dead import Dead
from tensorgrad.monitoring.checks.depth import Depth
from tensorgrad.monitoring.checks.nonfinite import Nonfinite
from tensorgrad.monitoring.checks.scaled import Scaled
from tensorgrad.monitoring.checks.too_good import TooGood
from tensorgrad.monitoring.checks.unchanged import Unchanged
from tensorgrad.monitoring.checks.uncleared import Uncleared
from tensorgrad.monitoring.checks.unreached import Unreached

CHECKS: dict[str, type[Check]] = {
    check.name: check for check in (Nonfinite, Uncleared, Unreached, Scaled, Copied, TooGood, Depth, Dead, Unchanged)
}
"""By name, in the order in which they are asked: a cause before what follows from it."""
