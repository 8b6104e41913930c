"""The stepper: one HTML file, complete in itself, that goes through a run contribution by contribution."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from micrograd.backprop import Node, add, overwrite, topological_order
from viz import text
from viz.errors import UserError
from viz.graph import Graph, check_node, describe
from viz.groups import group_tree
from viz.kit.page import Page, assemble, check_suffix
from viz.limits import IN_PYTHON, Spelling, check_page
from viz.names import caller_namespace
from viz.pages.blocked import blocked, cut_words
from viz.pages.checks import differences
from viz.pages.data import MOST_NAME_CHARACTERS, graph_data, recorded_data
from viz.pages.kept import kept
from viz.pages.scalars import pack, recordable
from viz.pages.unfolded import unfolded
from viz.pages.update import update_data
from viz.trace import Trace, trace

_STYLES = ("kit/kit.css", "kit/heat.css", "pages/step.css", "pages/graph.css", "pages/scalar_pane.css", "kit/print.css")
_SCRIPTS = (
    "kit/dom.js",
    "kit/numbers.js",
    "kit/heat.js",
    "kit/address.js",
    "kit/theme.js",
    "kit/take.js",
    "pages/engine.js",
    "pages/model.js",
    "pages/passes.js",
    "pages/run.js",
    "pages/moment.js",
    "pages/folding.js",
    "pages/conditions.js",
    "pages/layers.js",
    "pages/order.js",
    "pages/places.js",
    "pages/routes.js",
    "pages/layout.js",
    "pages/visible.js",
    "pages/sizes.js",
    "pages/boxes.js",
    "pages/chips.js",
    "pages/chip_places.js",
    "pages/overlay.js",
    "pages/paint.js",
    "pages/minimap.js",
    "pages/viewport.js",
    "pages/graph.js",
    "pages/unfolded.js",
    "pages/scalar_places.js",
    "pages/scalar_pane.js",
    "pages/now.js",
    "pages/tables.js",
    "pages/node.js",
    "pages/quiz.js",
    "pages/stepper.js",
    "pages/controls.js",
)


def step(
    root: Node,
    path: str | os.PathLike[str] | None = None,
    *,
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
    title: str | None = None,
    update: Any = None,
    parameters: Iterable[Node] | None = None,
    max_nodes: int | None = None,
    spelling: Spelling = IN_PYTHON,
) -> Page:
    """A page that steps through a run of `root`, a Value or a Tensor; written to `path` if given.

    Forward pass, seed, every contribution, and the update if there is one. The pass starts from empty gradients and is
    run with `+=`, with `=`, and by recursion without a topological order. The graph's own gradients and data stay as
    they are.

    gradient    the seed, for a tensor of several elements
    names       a namespace to look node names up in; by default the caller's variables
    title       the page's heading; by default the root's name and formula
    update      a learning rate, or an optimizer of tensorgrad.optim: what happens to the leaves after the pass
    parameters  the leaves that a learning rate is for; by default all that take a gradient
    max_nodes   how many nodes the page takes: by default 100,000 Values, or 5,000 nodes whose passes are recorded
    spelling    what the ways out are called in errors

    In a notebook the result shows itself; it needs neither a server nor a dot program.

    Raises what `root.backward(gradient)` would; TooLargeError for more nodes than the page takes (100,000 Values,
    5,000 Tensors); UserError for a path that cannot be written or does not end in .html or .htm, for complex numbers,
    for an update that is neither a finite number nor an optimizer of parameters of the graph, and for parameters
    without a learning rate.
    """
    check_node(root)
    if update is None and parameters is not None:
        raise UserError("parameters= says which leaves a learning rate is for: add update=0.1, for example")
    if path is not None:
        check_suffix(path)
    root._seed(gradient)
    order = topological_order(root)
    names = caller_namespace() if names is None else names
    computed = recordable(order) and root._seed(gradient) == 1.0  # what the page's own passes start with
    check_page(len(order), computed=computed, most=max_nodes, spelling=spelling)
    graph = describe(order, names, contributions=False)
    data = graph_data(order, graph)
    tree = group_tree(order, graph, names)
    data |= {"groups": tree.records, "groupOf": tree.of}
    data |= _blocked(order)
    if computed:
        traces, quantities = None, None
        data["scalars"] = pack(order)
    else:
        traces = _traces(root, gradient, names)
        recorded, quantities = recorded_data(order, graph, traces)
        data |= recorded
        data |= kept(order)
        data |= _beside(root, order, graph, names, gradient, traces)
    if update is not None:
        data["update"] = update_data(update, parameters, order, graph, traces, quantities)
    if quantities is not None:
        data |= {"quantities": quantities.records, "sampled": quantities.sampled}
    heading = text.cut(_encodable(graph.root.title if title is None else str(title)), MOST_NAME_CHARACTERS)
    page = Page(assemble("pages/step.html", heading, data, _STYLES, _SCRIPTS), heading)
    if path is not None:
        page.save(path)
    return page


def _traces(root: Node, gradient: Any, names: Mapping[str, Any]) -> dict[str, Trace]:
    return {
        "add": trace(root, add, gradient=gradient, names=names),
        "overwrite": trace(root, overwrite, gradient=gradient, names=names),
        "recursion": trace(root, add, gradient=gradient, names=names, recursive=True),
    }


def _blocked(order: Sequence[Node]) -> dict[str, Any]:
    cuts = {i: words for i, node in enumerate(order) if (words := cut_words(node))}
    return {"blocked": blocked(order), "cuts": cuts}


def _beside(
    root: Node,
    order: Sequence[Node],
    graph: Graph,
    names: Mapping[str, Any],
    gradient: Any,
    traces: Mapping[str, Trace],
) -> dict[str, Any]:
    """What the page shows beside a recorded graph: checks by finite differences, and the graph as Values."""
    grads = traces["add"].grads
    held = [grads.get(record.key) for record in graph.nodes]
    found, left_out = differences(root, order, graph, seed=root._seed(gradient), gradients=held)
    checks = {i: {"agrees": check["agrees"], "words": check["words"]} for i, check in found.items()}
    scalars, reason = unfolded(root, order, names, gradient)
    return {
        "checks": checks,
        "unchecked": left_out,
        "unfolded": {"reason": reason} if scalars is None else scalars,
    }


def _encodable(title: str) -> str:
    """`title` without halves of surrogate pairs, which no file can hold."""
    return title.encode("utf-8", "replace").decode("utf-8")
