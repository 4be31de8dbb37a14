from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.graph.homophily import measure_homophily
from gaug.graph.valid import standardize
from gaug.inspection.description import count_labels, describe_shape


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    num_nodes = draw(st.integers(2, 12))
    node = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node).filter(lambda p: p[0] != p[1]), min_size=1))
    labels = draw(st.lists(st.integers(0, 2), min_size=num_nodes, max_size=num_nodes))
    edge_index = torch.tensor(pairs).t().contiguous()
    data = Data(x=torch.eye(num_nodes), edge_index=edge_index, num_nodes=num_nodes)
    data.y = torch.tensor(labels).clamp(max=num_nodes - 1)
    return standardize(data)[0]


def as_networkx(data: Data) -> networkx.Graph:
    graph: networkx.Graph = networkx.Graph()
    graph.add_nodes_from((n, {"y": int(y)}) for n, y in enumerate(data.y))
    graph.add_edges_from(data.edge_index.t().tolist())
    return graph


@given(graphs())
def test_the_shape_is_that_of_networkx(data):
    graph = as_networkx(data)
    degrees = [degree for _, degree in graph.degree]
    components = [len(nodes) for nodes in networkx.connected_components(graph)]
    shape, counts = describe_shape(data)
    assert (shape.nodes, shape.edges) == (graph.number_of_nodes(), graph.number_of_edges())
    assert shape.mean_degree == pytest.approx(np.mean(degrees))
    assert (shape.median_degree, shape.largest_degree) == (np.median(degrees), max(degrees))
    assert shape.isolated_nodes == networkx.number_of_isolates(graph)
    assert (shape.components, shape.largest_component) == (len(components), max(components))
    assert counts == networkx.degree_histogram(graph)


@given(graphs())
def test_adjusted_homophily_is_the_assortativity_of_networkx(data):
    graph = as_networkx(data)
    found = measure_homophily(data, data.y)
    assert found is not None
    ends = {graph.nodes[end]["y"] for edge in graph.edges for end in edge}
    if len(ends) == 1:
        assert (found.share, found.adjusted) == (1.0, None)
    else:
        expected = networkx.attribute_assortativity_coefficient(graph, "y")
        assert found.adjusted == pytest.approx(expected)


def test_edges_of_nodes_of_unknown_class_do_not_count(path_graph):
    found = measure_homophily(path_graph, torch.tensor([0, 0, 1, -1]))
    assert found is not None
    assert (found.share, found.num_edges) == (0.5, 2)
    assert found.by_chance == pytest.approx(0.75**2 + 0.25**2)
    assert measure_homophily(path_graph, torch.tensor([0, -1, 1, -1])) is None
    assert measure_homophily(path_graph, torch.zeros(4, 2)) is None


def test_classes_are_counted_by_name(path_graph):
    def count(labels: torch.Tensor) -> tuple[dict[str, int], int, int]:
        path_graph.y = labels
        found = count_labels(LoadedGraph("g", path_graph, NodeIds.numbered(4), ("a", "b")))
        return found.counts, found.labeled, found.unlabeled

    assert count(torch.tensor([1, 0, -1, 1])) == ({"a": 1, "b": 2}, 3, 1)
    several = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    assert count(several) == ({"a": 1, "b": 2}, 2, 2)
