"""Relationship graphs: who is near to whom at the end of each conversation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Performance, Source
from screentest.builders.exports.retelling import Retelling

if TYPE_CHECKING:
    import networkx as nx

_NO_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def graphs(source: Source) -> Export:
    """One graph for each conversation, as a record in node-link form and as a GraphML file.

    Nodes are character ids. An edge from one to another holds ``known`` (0 or 1), ``spoken``, ``touched`` and
    ``weight``, as :meth:`screentest.agents.Relations.graph` counts them.

    Raises:
        InputError: The run's trajectories are damaged.
    """
    import networkx as nx

    rows: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for performance in source.performances():
        graph = _graph(performance)
        conversation = performance.trajectory.conversation
        name = f"{hashlib.sha256(conversation.encode()).hexdigest()[:16]}.graphml"
        files[name] = ("\n".join(nx.generate_graphml(graph)) + "\n").translate(_NO_XML).encode()
        linked = nx.node_link_data(graph, edges="edges")
        del linked["graph"]  # attributes of the graph itself: there are none
        rows.append({**performance.provenance(performance.test), "graphml": name, **linked})
    return Export(kind="graphs", rows=rows, of="conversations", files=files)


def _graph(performance: Performance) -> nx.DiGraph[str]:
    import networkx as nx

    named = Retelling(performance).whole.relations.graph()
    graph = nx.relabel_nodes(named, {character.name: character.id for character in performance.characters})
    for character in performance.characters:
        graph.nodes[character.id].update(name=character.name, under_test=character is performance.test)
    return graph
