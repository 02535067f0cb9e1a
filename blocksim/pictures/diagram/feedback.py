"""Which wires are feedback, and which blocks stand on the way back.

1. Each loop is cut at the Sum input whose sign is '-', else at a later Sum input, else at the wire furthest back in file order.
2. The one-input blocks on the way to that cut are flipped: drawn right to left, on a lane below the forward path.
"""

from __future__ import annotations

from .graph import BlockGraph, Item, Link


def find_cuts(graph: BlockGraph) -> list[Link]:
    """The feedback wires: without them nothing goes round in circles."""
    import networkx as nx

    cuts: list[Link] = []
    while True:
        net = nx.MultiDiGraph()
        net.add_nodes_from(graph.items)
        links = [link for link in graph.links if link not in cuts]
        net.add_edges_from((link.source, link.target) for link in links)
        part = {key: n for n, keys in enumerate(nx.strongly_connected_components(net)) for key in keys}
        size = [0] * len(graph.items)
        for n in part.values():
            size[n] += 1
        looping = [
            link
            for link in links
            if part[link.source] == part[link.target] and (size[part[link.source]] > 1 or link.source == link.target)
        ]
        if not looping:
            break
        cuts.append(min(looping, key=lambda link: cut_rank(graph, link)))
    return needed(graph, cuts)


def cut_rank(graph: BlockGraph, link: Link) -> tuple[int, bool, int, int]:
    """Smallest is cut first: the kind of input, then how far back in the file it reaches."""
    target = graph.items[link.target]
    back = graph.items[link.source].index - target.index
    if target.signs[link.slot : link.slot + 1] == "-":
        kind = 0
    elif target.shape == "circle" or target.signs:
        kind = 1 if link.slot else 2
    else:
        kind = 2
    return kind, back < 0, -back, link.slot


def needed(graph: BlockGraph, cuts: list[Link]) -> list[Link]:
    """Drop cuts that later ones made needless: a '-' on a parallel forward branch is not feedback."""
    import networkx as nx

    result = list(cuts)
    for cut in cuts:
        net = nx.DiGraph((link.source, link.target) for link in graph.links if link not in result or link is cut)
        if nx.is_directed_acyclic_graph(net):
            result.remove(cut)
    return result


def find_flips(graph: BlockGraph, cuts: list[Link]) -> set[str]:
    """The blocks drawn right to left; a `flip` hint decides for its block."""
    flipped = {key for key, item in graph.items.items() if item.hint}
    while True:
        keys = {key for cut in cuts for key in way_back(graph, cut, cuts, flipped)} - flipped
        if not keys:
            break
        flipped |= keys
    for key, item in graph.items.items():
        drivers = [link.source for link in graph.into(key)]
        if item.sink and item.hint is None and not item.record and item.shape != "oval" and drivers:
            flipped |= {key} if flipped.issuperset(drivers) else set()
    return flipped


def way_back(graph: BlockGraph, cut: Link, cuts: list[Link], flipped: set[str]) -> list[str]:
    """The chain of one-input blocks that ends in this cut, back to where the loop's output is taken."""
    chain: list[str] = []
    key = cut.source
    while key != cut.target and key not in chain and may_flip(graph, key, cuts, flipped, chain):
        chain.append(key)
        key = graph.into(key)[0].source
    if not chain:
        return []
    if key != cut.target and any(item.plant for item in behind(graph, key)):
        return chain
    for n, block in enumerate(chain):
        driver = graph.into(block)[0].source
        if driver != cut.target and branches(graph, driver, cuts):
            return chain[: n + 1] if is_output(graph, cut, driver, chain[: n + 1]) else []
    return samplers(graph, cut, [*chain, key])


def behind(graph: BlockGraph, key: str) -> list[Item]:
    """A block; or what a Sum adds up, where noise or an offset joins the plant's output."""
    item = graph.items[key]
    return [graph.items[link.source] for link in graph.into(key)] if item.shape == "circle" else [item]


def samplers(graph: BlockGraph, cut: Link, walk: list[str]) -> list[str]:
    """The sensors of a loop in which nothing branches: what samples a continuous system and leads straight to the cut."""
    for n, key in enumerate(walk):
        if key != cut.target and any(item.dynamic for item in behind(graph, key)):
            return walk[:n] if any(graph.items[k].sampled for k in walk[:n]) else []
    return []


def may_flip(graph: BlockGraph, key: str, cuts: list[Link], flipped: set[str], chain: list[str]) -> bool:
    """One input, not the plant, and nothing that continues the forward path hangs on it."""
    item = graph.items[key]
    if item.hint is False or item.plant or item.record or item.shape in ("circle", "oval") or len(item.inputs) != 1:
        return False
    if len(graph.into(key)) != 1:
        return False
    return all(
        link in cuts
        or link.target in flipped
        or link.target in chain
        or graph.items[link.target].sink
        or graph.items[link.target].record
        for link in graph.out_of(key)
    )


def branches(graph: BlockGraph, key: str, cuts: list[Link]) -> bool:
    """Whether several running blocks read it, inner loops aside: the place a loop's output is taken from."""
    return len({link.target for link in graph.out_of(key) if not link.dashed and link not in cuts}) > 1


def is_output(graph: BlockGraph, cut: Link, driver: str, chain: list[str]) -> bool:
    """Whether `driver` is the loop's output and the chain its sensor, rather than a controller with a scope and its plant.

    The two look alike when the chain has a scope of its own: then a controller and a plant must remain on the forward path.
    """
    if not any(graph.items[link.target].sink for key in chain for link in graph.out_of(key)):
        return True
    import networkx as nx

    net = nx.DiGraph((link.source, link.target) for link in graph.links if link is not cut)
    if cut.target not in net or not nx.has_path(net, cut.target, driver):
        return True
    forward = [graph.items[key] for key in nx.shortest_path(net, cut.target, driver)]
    return any(item.plant for item in forward) or sum(item.shape != "circle" for item in forward) > 1


def colour_systems(graph: BlockGraph, cuts: list[Link]) -> None:
    """Take the plant's colour from general systems where a plant is known by its class, and from those behind an error."""
    systems = [item for item in graph.items.values() if item.colour == "plant" and not item.plant]
    if any(item.plant for item in graph.items.values()):
        controllers = systems
    else:
        controllers = [item for item in systems if acts_on_an_error(graph, cuts, item)]
    for item in controllers:
        item.colour = "plain"


def acts_on_an_error(graph: BlockGraph, cuts: list[Link], item: Item) -> bool:
    """Whether its input is a difference with what comes back around a loop, and leads on to another system."""
    errors = {link.target for link in cuts if graph.items[link.target].signs[link.slot : link.slot + 1] == "-"}
    if not any(link.source in errors for link in graph.into(item.key)):
        return False
    reached, front = {item.key}, [item.key]
    while front:
        for link in graph.out_of(front.pop()):
            if link not in cuts and link.target not in reached:
                if graph.items[link.target].dynamic:
                    return True
                reached.add(link.target)
                front.append(link.target)
    return False
