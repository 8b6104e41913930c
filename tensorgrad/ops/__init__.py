"""The operations by family, each beside its rule. `Tensor` has them as methods, `tensorgrad` and `nn.functional` as
functions.

    on each element     arithmetic, functions, rounding, activations, comparisons, choosing, casting
    over axes           reduce (sum, mean, prod, all), extremes, statistics, norms, scans, softmax, sorting, counting
    products            linalg, einsum, products
    shape and order     shape, transposing, flipping, repeating, joining, padding, triangles
    at positions        index, gathering, scattering
    of networks         linear, embedding, normalization, attention, dropout, losses, cross_entropy, and
                        linear_cross_entropy, which is two of them in one

What they share:

    operands            what a caller may write for a tensor, and the dtype in which operands meet
    axes                the arguments that name axes
    keys                what x[...] reads, and adding at positions that repeat: index, gathering, scattering
    reducing            sums and their way back: over axes
    contraction         sums of products of arrays whose axes have names, with equation, which reads them: einsum
    targets, classes    the arguments of losses; which class each row is to have: of networks
    chance              what is left out at random: of networks
    attention_tiles     attention on arrays, a tile of its scores at a time: attention
    linear_tiles        a linear layer on arrays, a tile of its result at a time: linear_cross_entropy
    erf                 the error function on arrays: functions, activations
"""
