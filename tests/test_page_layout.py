"""The stepper page's layout, made in the page: boxes never overlap, curves keep clear of them, chains are straight."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import pytest

FILES = ("layout.js", "layers.js", "order.js", "places.js")
DIRECTIONS = ("LR", "TB")
SIZES = (1, 2, 5, 9, 17, 30, 60)

Graph = tuple[dict[str, Any], list[dict[str, Any]]]
LayOut = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def lay_out(browser: Any) -> Iterator[LayOut]:
    """The page's `layOut`; its boxes as a dict, and the milliseconds that it took."""
    page = browser.new_page()
    for name in FILES:
        page.add_script_tag(content=resources.files("viz.pages").joinpath(name).read_text(encoding="utf-8"))

    def call(graph: Graph, direction: str = "LR", **options: float) -> dict[str, Any]:
        tree, edges = graph
        return page.evaluate(
            """([tree, edges, options]) => {
                const start = performance.now();
                const { width, height, boxes, routes } = layOut(tree, edges, options);
                return { width, height, boxes: Object.fromEntries(boxes), routes, took: performance.now() - start };
            }""",
            [tree, edges, {"direction": direction, **options}],
        )

    yield call
    page.close()


# -- graphs ------------------------------------------------------------------------------------------------------------


def box(name: str, order: int, width: float = 110, height: float = 60) -> dict[str, Any]:
    return {"id": name, "order": order, "width": width, "height": height}


def flat(names: str, edges: str) -> Graph:
    """`flat("a b c", "ab bc")`"""
    return {"id": "all", "children": [box(name, i) for i, name in enumerate(names.split())]}, pairs(edges.split())


def pairs(edges: Any) -> list[dict[str, Any]]:
    return [{"from": start, "to": end} for start, end in edges]


SEVEN = flat("a b c m p r o", "am bm mp cp pr ro ao")


def chain(length: int, skip: int = 0) -> Graph:
    boxes = [box(f"n{i}", i, 80, 40) for i in range(length)]
    edges = [(f"n{i - back}", f"n{i}") for i in range(length) for back in (1, skip) if back and i >= back]
    return {"id": "all", "children": boxes}, pairs(edges)


def dag(size: int, seed: int, reach: int = 15) -> Graph:
    """A random graph of boxes of random sizes, some edges of it with labels or twice."""
    draw = random.Random(seed)
    boxes = [box(f"n{i}", i, draw.uniform(40, 130), draw.uniform(20, 80)) for i in range(size)]
    edges = []
    for i in range(size // 5 + 1, size):
        for _ in range(draw.choice((1, 2, 2))):
            edges.append({"from": f"n{draw.randrange(max(0, i - reach), i)}", "to": f"n{i}"})
            if draw.random() < 0.5:
                edges[-1]["label"] = {"width": draw.uniform(20, 90), "height": 18}
    return {"id": "all", "children": boxes}, edges


def grouped(size: int, seed: int) -> Graph:
    """A random graph in random open groups, up to three deep; between groups there are cycles."""
    tree, edges = dag(size, seed)
    draw = random.Random(-seed)

    def group(children: list[dict[str, Any]], depth: int) -> list[dict[str, Any]]:
        parts = []
        while children:
            count = draw.randrange(1, 7)
            part, children = children[:count], children[count:]
            if len(part) > 2 and depth < 3 and draw.random() < 0.7:
                name = f"g{part[0]['order']}-{depth}"
                parts.append({"id": name, "order": part[0]["order"], "title": 26, "padding": 14})
                parts[-1]["children"] = group(part, depth + 1)
            else:
                parts += part
        return parts

    children = list(tree["children"])
    if seed % 3 == 0:
        draw.shuffle(children)  # groups of what does not belong together: cycles between them
    return {"id": "all", "children": group(children, 0)}, edges


def network(opened: str | None = None) -> Graph:
    """Layers of 3, 4 and 4 neurons in groups; one of the neurons may be open."""
    layers, edges, before = [], [], [f"x{i}" for i in range(3)]
    for layer in range(2):
        neurons, ends = [], []
        for k in range(4):
            name = f"neuron{layer}{k}"
            if name == opened:
                products = [f"product{i}" for i in range(len(before))]
                inner = [box(each, 10 + i, 60, 40) for i, each in enumerate([*products, "sum"])]
                neurons.append({"id": name, "order": 10 * layer + k, "children": inner})
                edges += [*zip(before, products, strict=True), *((product, "sum") for product in products)]
                ends.append("sum")
            else:
                neurons.append(box(name, 10 * layer + k, 90, 40))
                edges += [(each, name) for each in before]
                ends.append(name)
        layers.append({"id": f"layer{layer}", "order": 10 * layer, "children": neurons})
        before = ends
    return {"id": "all", "children": [*(box(f"x{i}", i, 60, 40) for i in range(3)), *layers]}, pairs(edges)


GRAPHS = {
    "seven": SEVEN,
    "square": flat("x y", "xy xy"),
    "chain": chain(30),
    "residual": chain(24, 2),
    "fan": (
        {"id": "all", "children": [box(f"n{i}", i, 80, 30) for i in range(41)]},
        pairs(("n0", f"n{i}") for i in range(1, 41)),
    ),
    "used by all": (
        {"id": "all", "children": chain(40)[0]["children"]},
        chain(40)[1] + pairs(("n0", f"n{i}") for i in range(2, 40)),
    ),
    "network": network(),
    "open neuron": network("neuron11"),
    "cycle": flat("a b c d", "ab bc cd ca ba"),
    "no edges": flat("a b c d e f g h i j k l m n o p", ""),
    "nothing": ({"id": "all", "children": []}, []),
    "empty group": ({"id": "all", "children": [{"id": "g", "order": 0, "children": []}, box("a", 1)]}, []),
    **{f"random {size}": dag(size, size) for size in SIZES},
    **{f"grouped {size} {seed}": grouped(size, seed) for size in SIZES for seed in (3, 4)},
}


# -- what holds for each -----------------------------------------------------------------------------------------------


def groups_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree
    for child in tree["children"]:
        if "children" in child:
            yield from groups_of(child)


def apart(a: dict[str, float], b: dict[str, float], gap: float) -> bool:
    """Whether two boxes are `gap` apart, sideways or upwards."""
    sideways = max(a["x"], b["x"]) - min(a["x"] + a["width"], b["x"] + b["width"])
    upwards = max(a["y"], b["y"]) - min(a["y"] + a["height"], b["y"] + b["height"])
    return max(sideways, upwards) >= gap - 1e-6


def points(route: list[float], steps: int = 12) -> Iterator[tuple[float, float]]:
    for i in range(0, len(route) - 2, 6):
        x, y = route[i : i + 8 : 2], route[i + 1 : i + 8 : 2]
        for step in range(steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield sum(map(float.__mul__, weights, map(float, x))), sum(map(float.__mul__, weights, map(float, y)))


def inside(x: float, y: float, box: dict[str, float], by: float = 0.5) -> bool:
    return box["x"] + by < x < box["x"] + box["width"] - by and box["y"] + by < y < box["y"] + box["height"] - by


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_are_apart_and_inside_their_groups(lay_out, name, direction):
    tree, edges = GRAPHS[name]
    found = lay_out((tree, edges), direction)
    boxes = found["boxes"]
    for group in groups_of(tree):
        children = [boxes[child["id"]] for child in group["children"]]
        assert all(apart(a, b, 20) for a, b in itertools.combinations(children, 2))
        outer = boxes.get(group["id"], {"x": 0, "y": 0, "width": found["width"], "height": found["height"]})
        border = 14 if group["id"] in boxes else 0
        for child in children:
            assert child["x"] >= outer["x"] + border - 1e-6
            assert child["y"] >= outer["y"] + (border + 26 if border else 0) - 1e-6  # below the group's caption
            assert child["x"] + child["width"] <= outer["x"] + outer["width"] - border + 1e-6
            assert child["y"] + child["height"] <= outer["y"] + outer["height"] - border + 1e-6
        for child in group["children"]:
            if "children" not in child:
                assert (boxes[child["id"]]["width"], boxes[child["id"]]["height"]) == (child["width"], child["height"])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_edges_leave_and_arrive_at_the_right_sides_and_keep_clear_of_other_boxes(lay_out, name, direction):
    tree, edges = GRAPHS[name]
    found = lay_out((tree, edges), direction)
    boxes = found["boxes"]
    closed = {child["id"] for group in groups_of(tree) for child in group["children"] if "children" not in child}
    assert len(found["routes"]) == len(edges)
    count = crossed = 0
    for edge, route in zip(edges, found["routes"], strict=True):
        assert len(route) % 6 == 2
        start, end = boxes[edge["from"]], boxes[edge["to"]]
        along, across = ("x", "y") if direction == "LR" else ("y", "x")
        length, breadth = ("width", "height") if direction == "LR" else ("height", "width")
        first, last = dict(zip("xy", route[:2], strict=True)), dict(zip("xy", route[-2:], strict=True))
        assert first[along] == pytest.approx(start[along] + start[length])
        assert last[along] == pytest.approx(end[along])
        assert start[across] < first[across] < start[across] + start[breadth]
        assert end[across] < last[across] < end[across] + end[breadth]
        for x, y in points(route):
            count += 1
            crossed += any(inside(x, y, boxes[each]) for each in closed - {edge["from"], edge["to"]})
            assert -1 <= x <= found["width"] + 1
            assert -1 <= y <= found["height"] + 1
    assert crossed <= 0.005 * count


def test_both_edges_of_a_square_are_seen(lay_out):
    one, two = lay_out(GRAPHS["square"])["routes"]
    assert min(abs(a[1] - b[1]) for a, b in zip(points(one), points(two), strict=True)) >= 10


def test_edges_that_repeat_over_several_ranks_are_apart_too(lay_out):
    *_, one, two = lay_out(flat("a b c d", "ab bc cd ad ad"))["routes"]
    middle = len(list(points(one))) // 2
    assert abs(list(points(one))[middle][1] - list(points(two))[middle][1]) >= 10


def test_the_main_chain_is_one_line(lay_out):
    boxes = lay_out(SEVEN)["boxes"]
    assert len({round(boxes[name]["y"], 3) for name in "mpro"}) == 1
    boxes = lay_out(GRAPHS["used by all"])["boxes"]
    assert len({round(boxes[f"n{i}"]["y"], 3) for i in range(1, 40)}) == 1


def test_edges_go_to_the_right_or_down_and_leaves_stand_before_their_first_use(lay_out):
    boxes = lay_out(SEVEN)["boxes"]
    assert boxes["c"]["x"] == boxes["m"]["x"]
    assert [boxes[name]["x"] for name in "ampro"] == sorted({box["x"] for box in boxes.values()})
    boxes = lay_out(SEVEN, "TB")["boxes"]
    assert [boxes[name]["y"] for name in "ampro"] == sorted({box["y"] for box in boxes.values()})


def test_labels_have_room_between_the_ranks(lay_out):
    tree, edges = flat("a b c", "ab bc")
    edges[1]["label"] = {"width": 150, "height": 18}
    boxes = lay_out((tree, edges))["boxes"]
    assert boxes["b"]["x"] - boxes["a"]["x"] - 110 == 60
    assert boxes["c"]["x"] - boxes["b"]["x"] - 110 >= 160
    boxes = lay_out((tree, edges), "TB")["boxes"]
    assert boxes["c"]["y"] - boxes["b"]["y"] - 60 == 60


def test_the_gaps_are_as_asked(lay_out):
    boxes = lay_out(flat("a b c", "ac bc"), across=47, between=133)["boxes"]
    assert abs(boxes["a"]["y"] - boxes["b"]["y"]) == 60 + 47
    assert boxes["c"]["x"] - boxes["a"]["x"] == 110 + 133


def test_trees_have_no_crossings(lay_out):
    tree, edges = flat("a b c d e f g h i j k l m n o", "ai ei bj fj ck gk dl hl im jm kn ln mo no")
    boxes = lay_out((tree, edges))["boxes"]
    lines = [(boxes[edge["from"]], boxes[edge["to"]]) for edge in edges]
    for (a, b), (c, d) in itertools.combinations(lines, 2):
        if a["x"] == c["x"]:
            assert (a["y"] - c["y"]) * (b["y"] - d["y"]) >= 0


def test_lines_into_a_group_keep_the_order_that_they_have_outside(lay_out):
    found = lay_out(network("neuron11"))
    starts = [found["boxes"][f"neuron0{k}"]["y"] for k in range(4)]
    ends = [found["boxes"][f"product{k}"]["y"] for k in range(4)]
    order = sorted(range(4), key=starts.__getitem__)
    assert order == sorted(range(4), key=ends.__getitem__)


def test_the_same_graph_has_the_same_layout(lay_out):
    one, two = (lay_out(grouped(60, 4)) for _ in range(2))
    assert (one["boxes"], one["routes"]) == (two["boxes"], two["routes"])


def test_many_boxes_without_edges_make_a_block(lay_out):
    found = lay_out(({"id": "all", "children": [box(f"n{i}", i) for i in range(60)]}, []))
    assert 0.4 < found["width"] / found["height"] < 3


@pytest.mark.parametrize("graph", [chain(5000, 2), dag(5000, 1, 300), dag(5000, 2, 5000)], ids=["chain", "near", "far"])
def test_five_thousand_boxes_take_no_minute(lay_out, graph):
    found = lay_out(graph)
    assert len(found["boxes"]) == 5000
    assert found["took"] < 15_000  # about 600 on an idle machine


def test_four_hundred_boxes_are_laid_out_at_once(lay_out):
    assert min(lay_out(dag(400, 3, 60))["took"] for _ in range(3)) < 3000  # about 80 on an idle machine


def test_many_boxes_in_open_groups_are_apart_too_and_soon_there(lay_out):
    tree, edges = grouped(1200, 4)
    found = lay_out((tree, edges))
    for group in groups_of(tree):
        children = [found["boxes"][child["id"]] for child in group["children"]]
        assert all(apart(a, b, 20) for a, b in itertools.combinations(children, 2))
    assert found["took"] < 8_000  # a few hundred on an idle machine
