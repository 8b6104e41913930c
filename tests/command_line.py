"""What the tests of the command line share: a user's file, and running a command in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout

from viz import cli

SEVEN = ("relu(a*b + c)*a", "a=2", "b=-3", "c=10")

USER_FILE = """\
from micrograd import Value
from tensorgrad import Tensor, no_grad
a = Value(2.0)
loss = a * 3 + a
t = Tensor([[1.0, 2.0]], requires_grad=True)
row = t * 2
with no_grad():
    constant = t * 2
number = 3.0
long = sum((Value(i) for i in range(750)), Value(0))
deep = sum((Value(i) for i in range(1500)), Value(0))
def square(x, times=1.0):
    return (x * x * times)
def dot(x, w):
    return x @ w
def pair(x):
    return [x, x]
def broken(x):
    return x / 0 + undefined
closure = a * 5
def rule():
    raise RuntimeError("in the rule")
closure._backward = rule
done = a * 4
done.backward()
trained = ((t * t).sum() + t.sum()) * 2
with no_grad():
    t -= 0.5
"""


def run(*arguments):
    """The status, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main(arguments)
    return status, out.getvalue(), err.getvalue()


def files_in(folder):
    """The names of the files that a command left beside the user's file."""
    return sorted(path.name for path in folder.iterdir() if path.name != "net.py")
