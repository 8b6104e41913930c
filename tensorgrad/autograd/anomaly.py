"""Anomaly detection: a backward pass that stops at the first rule that sends nan."""

from __future__ import annotations

from tensorgrad import checks


class set_detect_anomaly:
    """Turn anomaly detection on or off, at once; in a `with`, until its end.

    While it is on, a rule that sends nan raises RuntimeError, which names the operation, and the assertions of
    `tensorgrad.debug` are on too, so that passes take longer. With `check_nan` False nothing is looked for.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = checks.watching()
        checks.watch(mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        checks.watch(self._before)


class detect_anomaly:
    """Anomaly detection inside a `with`: see `set_detect_anomaly`."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before = False

    def __enter__(self) -> None:
        self._before = checks.watching()
        checks.watch(self._check_nan)

    def __exit__(self, *exc: object) -> None:
        checks.watch(self._before)
