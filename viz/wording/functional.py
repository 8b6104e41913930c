"""Functions that networks are made of."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {
    "mse_loss": ("2*({a} - {b})", "2*({b} - {a})"),
    "l1_loss": ("sign({a} - {b})", "sign({b} - {a})"),
    "binary_cross_entropy": ("({a} - {b}) / ({a} * (1 - {a}))", "(log(1 - {a}) - log({a}))"),
}

WHOLE: dict[str, tuple[str, ...]] = {
    "linear": ("{g} @ {b}", "{g}.T @ {a}, over all rows", "{g} summed over all rows"),
    "embedding": ("{g} added up in the rows that were read",),
    "layer_norm": (
        "({g} * the weights, less its mean and its projection onto the normalised {a}) / the deviation, row by row",
        "{g} * the normalised {a}, summed over all rows",
        "{g} summed over all rows",
    ),
    "rms_norm": (
        "({g} * the weights, less its projection onto the normalised {a}) / the root mean square, row by row",
        "{g} * the normalised {a}, summed over all rows",
    ),
    "cosine_similarity": (
        "{g} * (the unit vector of {b} - {out} * that of {a}) / the length of {a}",
        "{g} * (the unit vector of {a} - {out} * that of {b}) / the length of {b}",
    ),
    "dropout": ("{g} / (1 - p) where {a} was kept, 0 elsewhere",),
    "cross_entropy": ("{g} * (softmax({a}) - 1 at the right class), divided by their number for a mean",),
    "linear_cross_entropy": (
        "d @ {b}, where d = {g} * (softmax(the scores) - 1 at the right class), divided by their number for a mean",
        "d.T @ {a}, where d = {g} * (softmax(the scores) - 1 at the right class), divided by their number for a mean",
        "{g} * (softmax(the scores) - 1 at the right class), summed over all rows, divided by their number for a mean",
    ),
    "nll_loss": ("-{g} at the right class, divided by their number for a mean",),
    "smooth_l1_loss": (
        "{g} * ({a} - {b}) / beta, cut off at -1 and 1",
        "{g} * ({b} - {a}) / beta, cut off at -1 and 1",
    ),
    "huber_loss": (
        "{g} * ({a} - {b}), the difference cut off at -delta and delta",
        "{g} * ({b} - {a}), the difference cut off at -delta and delta",
    ),
    "binary_cross_entropy_with_logits": (
        "{g} * (sigmoid({a}) - {b}), the part of {b} times pos_weight",
        "-{g} * {a}, with pos_weight also {g} * (pos_weight - 1) * log(1 + exp(-{a}))",
        "{g} * {b} * log(1 + exp(-{a}))",
    ),
    "kl_div": (
        "-{g} * the target's probability",
        "{g} * (the target's logarithm + 1 - {a}), with log_target times {b}'s exp",
    ),
    "scaled_dot_product_attention": (
        "scale * S @ {b}, where S is what the softmax sends to the scores",
        "scale * S.T @ {a}, where S is what the softmax sends to the scores",
        "(the attention weights).T @ {g}",
        "what the softmax sends to the scores",
    ),
}

PROSE = frozenset(WHOLE)
