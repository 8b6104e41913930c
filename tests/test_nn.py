"""`micrograd.nn`, and the net of figures row 2 on both engines, beside torch."""

from __future__ import annotations

import random

import numpy as np
import pytest
from engines import SCALAR, TENSOR, Engine, number, on_both_engines

from micrograd import Value
from micrograd.backprop import reached, topological_order
from micrograd.nn import MLP, Layer, Module, Neuron
from tensorgrad import Tensor

# -- figures row 2: 41 parameters, 394 nodes ---------------------------------------------------------------------------

XS = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
YS = [1.0, -1.0, -1.0, 1.0]


def seeded_net(leaf=Value) -> MLP:
    """The net with the weights of one seed, each parameter made by `leaf`."""
    random.seed(1337)
    net = MLP(3, [4, 4, 1])
    for neuron in (n for layer in net.layers for n in layer.neurons):
        neuron.w = [leaf(w.data) for w in neuron.w]
        neuron.b = leaf(neuron.b.data)
    return net


def squared_error(net: MLP):
    ps = [net(x) for x in XS]
    return sum((p - y) ** 2 for y, p in zip(YS, ps))


def gradients(leaf) -> list[float]:
    net = seeded_net(leaf)
    squared_error(net).backward()
    return [number(p.grad) for p in net.parameters()]


def torch_gradients(torch, dtype) -> list[float]:
    ps = [torch.tensor(p.data, dtype=dtype, requires_grad=True) for p in seeded_net().parameters()]
    rest = iter(ps)
    layers = [[([next(rest) for _ in range(nin)], next(rest)) for _ in range(nout)] for nin, nout in SIZES]
    loss = 0
    for x, y in zip(XS, YS):
        h = [torch.tensor(t, dtype=dtype) for t in x]
        for i, layer in enumerate(layers):
            sums = [torch.stack(w) @ torch.stack(h) + b for w, b in layer]
            h = sums if i == len(layers) - 1 else [s.relu() for s in sums]
        loss = loss + (h[0] - y) ** 2
    loss.backward()
    return [p.grad.item() for p in ps]


SIZES = [(3, 4), (4, 4), (4, 1)]


@on_both_engines
def test_row_2_has_41_parameters_and_394_nodes(engine: Engine):
    net = seeded_net(engine.leaf)
    assert len(net.parameters()) == 41
    assert len(topological_order(squared_error(net))) == 394


@on_both_engines
def test_row_2_gradients_are_torchs_in_float64(engine: Engine, torch):
    assert gradients(engine.leaf) == pytest.approx(torch_gradients(torch, torch.float64), rel=0, abs=1e-12)


def test_row_2_gradients_are_within_7e_6_of_torchs_in_float32(torch):
    in_float32 = torch_gradients(torch, torch.float32)
    assert gradients(SCALAR.leaf) == pytest.approx(in_float32, rel=0, abs=7e-6)
    single = gradients(lambda x: Tensor(np.float32(x), requires_grad=True))
    assert single == pytest.approx(in_float32, rel=0, abs=7e-6)


def test_row_2_gradients_of_both_engines_agree():
    assert gradients(TENSOR.leaf) == pytest.approx(gradients(SCALAR.leaf), rel=0, abs=1e-13)


def test_row_2_gradients_reach_every_parameter_that_is_not_behind_a_dead_unit():
    found = gradients(Value)
    assert sum(g != 0.0 for g in found) > 20


# -- modules -----------------------------------------------------------------------------------------------------------


def test_text():
    assert repr(Neuron(2)) == "ReLUNeuron(2)"
    assert repr(Neuron(2, nonlin=False)) == "LinearNeuron(2)"
    assert repr(Layer(2, 2)) == "Layer of [ReLUNeuron(2), ReLUNeuron(2)]"
    assert repr(MLP(2, [1])) == "MLP of [Layer of [LinearNeuron(2)]]"


def test_a_neuron_is_a_weighted_sum_and_a_bias():
    neuron = Neuron(2, nonlin=False)
    neuron.w[0].data, neuron.w[1].data, neuron.b.data = 2.0, -3.0, 0.5
    out = neuron([10.0, 1.0])
    assert out.data == 17.5
    out.backward()
    assert [p.grad for p in neuron.parameters()] == [10.0, 1.0, 1.0]


def test_relu_stands_between_the_layers_and_not_after_the_last():
    net = MLP(1, [2, 1])
    assert [n.nonlin for layer in net.layers for n in layer.neurons] == [True, True, False]


def test_parameters_stand_layer_by_layer_weights_before_the_bias():
    net = MLP(2, [2, 1])
    first, second = net.layers[0].neurons
    (last,) = net.layers[1].neurons
    assert net.parameters() == [*first.w, first.b, *second.w, second.b, *last.w, last.b]


def test_zero_grad_forgets():
    net = MLP(2, [2, 1])
    net([1.0, 2.0]).backward()
    net.zero_grad()
    assert all(p.grad == 0.0 and not reached(p) for p in net.parameters())


def test_zero_grad_of_tensors_leaves_none():
    net = seeded_net(TENSOR.leaf)
    squared_error(net).backward()
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_a_module_without_parameters():
    assert Module().parameters() == []
    Module().zero_grad()


@pytest.mark.parametrize("inputs", [[1.0], [1.0, 2.0, 3.0], []])
def test_a_wrong_number_of_inputs_is_refused(inputs):
    with pytest.raises(ValueError, match=rf"LinearNeuron\(2\) takes 2 inputs, got {len(inputs)}"):
        Neuron(2, nonlin=False)(inputs)
    with pytest.raises(ValueError, match=f"takes 2 inputs, got {len(inputs)}"):
        MLP(2, [2, 1])(inputs)


@pytest.mark.parametrize(
    "inputs",
    [(1.0, 2.0), [1, 2], np.array([1.0, 2.0]), iter([1.0, 2.0]), [Value(1.0), 2], range(1, 3)],
    ids=lambda x: type(x).__name__,
)
def test_inputs_come_in_any_sequence(inputs):
    random.seed(5)
    net = MLP(2, [2, 1])
    expected = net([1.0, 2.0]).data
    assert net(inputs).data == expected


@on_both_engines
def test_a_layer_of_one_neuron_may_stand_in_the_middle(engine: Engine):
    random.seed(5)
    net = MLP(2, [2, 1, 3])
    for neuron in (n for layer in net.layers for n in layer.neurons):
        neuron.w, neuron.b = [engine.leaf(abs(w.data)) for w in neuron.w], engine.leaf(0.5)
    outs = net([1.0, 2.0])
    assert len(outs) == 3
    sum(outs).backward()
    assert all(reached(p) for p in net.parameters())


def test_training_lowers_the_loss():
    net = seeded_net()
    losses = []
    for _ in range(20):
        loss = squared_error(net)
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data -= 0.01 * p.grad
        losses.append(loss.data)
    assert losses[-1] < 0.1 * losses[0]
