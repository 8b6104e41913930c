"""What depth(model, loss) says of blocks that no gradient reaches, and of layers that a model does not see."""

from __future__ import annotations

import json

import pytest
from command_line import run

import tensorgrad
import viz
from tensorgrad import Tensor, nn
from viz.errors import UserError


class Chain(nn.Module):
    """Five blocks one after the other; `between` is what happens to the numbers after the third."""

    def __init__(self, between=lambda x: x) -> None:
        super().__init__()
        self.blocks, self.between = nn.ModuleList([nn.Linear(4, 4) for _ in range(5)]), between

    def forward(self, x: Tensor) -> Tensor:
        for place, block in enumerate(self.blocks):
            x = block(x).tanh()
            x = self.between(x) if place == 2 else x
        return x


class Hidden(nn.Module):
    """Layers in what Python has for several."""

    def __init__(self, held) -> None:
        super().__init__()
        self.layers, self.head = held, nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers.values() if isinstance(self.layers, dict) else self.layers:
            x = layer(x).tanh()
        return self.head(x)


@pytest.fixture
def x() -> Tensor:
    tensorgrad.manual_seed(0)
    return tensorgrad.randn(2, 4)


def notes(model: nn.Module, loss: Tensor) -> list[str]:
    """What stands below the table."""
    lines = str(viz.depth(model, loss)).splitlines()
    return lines[[line.startswith("first over last") for line in lines].index(True) + 1 :]


@pytest.mark.parametrize(
    ("between", "said"),
    [
        (lambda x: x, []),
        (
            Tensor.detach,
            ["no gradient came to blocks.0, blocks.1, blocks.2: not called, or cut out of the graph (detach, no_grad)"],
        ),
        (
            lambda x: (x - 100).relu(),
            ["the parameters of blocks.0, blocks.1, blocks.2 have a gradient of 0: nothing moves them"],
        ),
    ],
    ids=["whole", "detached", "dead"],
)
def test_the_table_says_which_blocks_get_no_gradient(x, between, said):
    model = Chain(between)
    assert notes(model, model(x).square().mean()) == said


def test_a_block_that_is_not_called_is_named_and_of_many_the_first(x):
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(8)])
    (said,) = notes(net, net[0](x).mean())
    assert said.startswith("no gradient came to 1, 2, 3, 4 and 3 more blocks: not called")


def test_of_mere_parameters_only_their_gradient_is_known(x):
    w, unused = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    (said,) = notes({"w": [w], "unused": [unused]}, (w * 2).sum())
    assert said == "the parameters of unused have a gradient of 0: nothing moves them"


@pytest.mark.parametrize("make", [list, tuple, lambda layers: dict(enumerate(layers))], ids=["list", "tuple", "dict"])
def test_layers_that_the_model_does_not_see_are_named(x, make):
    layers = [nn.Linear(4, 4) for _ in range(3)]
    model = nn.Sequential(Hidden(make(layers)), nn.Tanh())
    loss = model(x).square().mean()
    with pytest.raises(UserError, match=r"modules in Sequential\.0\.layers, .* make it an nn\.ModuleList, or give"):
        viz.depth(model, loss)
    assert viz.depth(layers, loss).at_weights > 0


def test_modules_in_a_list_that_the_model_also_sees_or_that_are_not_used_are_no_fault(x):
    model = Chain()
    model.shortcut = [model.blocks[0]]
    model.spare = [nn.Linear(4, 4)]
    assert len(viz.depth(model, model(x).mean())) == 5


def test_the_command_takes_a_list_of_modules_for_blocks(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(
        "import tensorgrad\n"
        "from tensorgrad import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = [nn.Linear(4, 4) for _ in range(3)]\n"
        "net = Net()\n"
        "h = tensorgrad.randn(2, 4)\n"
        "for layer in net.layers:\n"
        "    h = layer(h)\n"
        "loss = h.sum()\n"
    )
    status, out, err = run("depth", f"{path}:loss", "--model", "net")
    assert (status, out) == (2, "")
    assert "modules in Net.layers" in err
    status, out, _ = run("depth", f"{path}:loss", "--model", "net.layers", "--json")
    assert (status, json.loads(out)["names"]) == (0, ["0", "1", "2"])
    status, _, err = run("depth", f"{path}:loss", "--model", "net.layers.9")
    assert status == 2
    assert "has no model net.layers.9" in err
