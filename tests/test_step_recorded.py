"""`plusequals step` knows how the operations of tensors were called, so that its page has scalars and checks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import run

PROGRAM = """\
import numpy as np
from tensorgrad import Tensor

x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True, label="x")

def spread(w):
    return (x * w).var(dim=1).sum()

loss = (x * x).mean(axis=1).sum()
"""


@pytest.mark.parametrize("target", [["wide.py:loss"], ["wide.py:spread", "w=[1.0, 2.0, 3.0]"], ["mean(x)", "x=[1, 2]"]])
def test_the_page_of_a_command_has_scalars_and_checks(folder: Path, target: list[str]) -> None:
    (folder / "wide.py").write_text(PROGRAM)
    assert run("step", *target, "-o", "o.html")[0] == 0
    text = (folder / "o.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["unfolded"]["graph"]["data"]
    assert data["unchecked"] == ""
    assert data["checks"]
    assert all(check["agrees"] for check in data["checks"].values())
