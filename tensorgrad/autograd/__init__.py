"""Gradients as values, operations of one's own, and checks against finite differences, under torch's names."""

from tensorgrad.autograd.checking import Difference, GradcheckError, finite_difference, gradcheck, input_gradients
from tensorgrad.autograd.function import Context, Function
from tensorgrad.autograd.gradients import backward, grad
from tensorgrad.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
