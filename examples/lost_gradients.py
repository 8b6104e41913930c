"""Six mistakes that raise nothing in most libraries, and what is said of each here.

python examples/lost_gradients.py
"""

import warnings

import tensorgrad as torch
from tensorgrad.nn import functional as F

warnings.simplefilter("always")
warnings.showwarning = lambda message, *where: print(f"   warning: {message}")


def title(text):
    print(f"\n{text}")


def parameter():
    return torch.tensor([[0.5, -1.0], [2.0, 0.3]], requires_grad=True)


x = torch.tensor([[1.0, 2.0]])

title("1. detach() on the way: the weights before it are never reached")
w, b = parameter(), torch.zeros(2, requires_grad=True)
loss = ((x @ w).tanh().detach() + b).sum()
loss.backward()
assert w.grad is None
print("   explain:", torch.explain(w))

title("2. a part that was computed under no_grad")
with torch.no_grad():
    features = (x @ w).relu()
loss = (features * b).sum()
loss.backward()
print("   explain:", torch.explain(w))

title("3. a dead relu: a gradient arrives, and it is zero")
loss = ((x @ w - 100).relu() + b).sum()
loss.backward()
print("   explain:", torch.explain(w))

title("4. targets of shape (N, 1) against predictions of shape (N,): N times N differences")
prediction, target = (torch.ones(3, 2) @ w).sum(1), torch.zeros(3, 1)
F.mse_loss(prediction, target)
((prediction - target) ** 2).mean().backward()

title("5. a change in place between forward and backward")
loss = (w * w).sum()
with torch.no_grad():
    w -= 0.1
try:
    loss.backward()
except RuntimeError as error:
    print("   error:", error)

title("6. nan from 0 times inf, and where it began")
v = torch.tensor([0.0, 3.0], requires_grad=True)
loss = (v * v).sqrt().sum()
loss.backward()
print("   gradient:", v.grad)
print("   explain:", torch.explain(v))
