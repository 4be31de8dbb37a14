from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug.data.config import PARTS, SplitConfig
from gaug.data.split_drawing import draw_stratified
from gaug.data.splits import Split, checked_split, make_split, read_split
from gaug.errors import ConfigError, DataError

DRAWN = ("random", "stratified", "per-class")


def labeled(labels):
    """A graph with the given labels; a split looks at nothing else."""
    y = torch.as_tensor(labels)
    num_nodes = y.size(0)
    ring = torch.arange(num_nodes)
    edge_index = torch.stack([ring, (ring + 1) % num_nodes])
    return Data(x=torch.ones(num_nodes, 1), edge_index=edge_index, y=y, num_nodes=num_nodes)


@pytest.fixture
def hundred():
    """100 nodes: classes 0, 1 and 2 of 50, 30 and 20 nodes."""
    return labeled([0] * 50 + [1] * 30 + [2] * 20)


def ids(*numbers):
    return np.array(numbers, dtype=np.int64)


def write(path, **arrays):
    np.savez(path, **arrays)
    return path


def sizes(split):
    return [getattr(split, part).numel() for part in PARTS]


def every_id(split):
    return torch.cat([split.train, split.val, split.test]).tolist()


def test_a_split_keeps_the_ids_of_its_parts_in_order(path_graph):
    split = checked_split("mine", [ids(3, 0), ids(1), ids(2)], path_graph)
    assert [split.train.tolist(), split.val.tolist(), split.test.tolist()] == [[0, 3], [1], [2]]
    assert split.name == "mine"


def test_a_split_need_not_take_every_node(two_cliques):
    assert sizes(checked_split("mine", [ids(0), ids(1), ids(5)], two_cliques)) == [1, 1, 1]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([(0, 1), (2,), (1, 3)], "^Split 'mine' has node 1 both in train and in test.$"),
        ([(0,), (2,), (3, 2)], "^Split 'mine' has node 2 both in val and in test.$"),
        ([(0,), (), (3,)], "^The val part of split 'mine' must not be empty.$"),
        ([(0,), (1,), (4,)], "^The test part of split 'mine' must hold node ids .* 3, got 4.$"),
        ([(-1,), (1,), (2,)], "^The train part of split 'mine' must hold .* 0 to 3, got -1.$"),
        ([(0, 0), (1,), (2,)], "^The train part of split 'mine' lists a node more than once.$"),
    ],
    ids=["overlap", "overlap-val-test", "empty", "too-large", "negative", "repeated"],
)
def test_parts_that_are_no_split_are_refused_with_part_and_node(path_graph, parts, message):
    with pytest.raises(DataError, match=message):
        checked_split("mine", [ids(*part) for part in parts], path_graph)


def test_a_node_without_label_is_refused_in_any_part():
    data = labeled([0, 1, -1, 0])
    for place, part in enumerate(PARTS):
        parts = [ids(0), ids(1), ids(3)]
        parts[place] = ids(2)
        with pytest.raises(DataError, match=f"^Node 2 of the {part} part .* has no label.$"):
            checked_split("mine", parts, data)


def test_a_node_with_none_of_several_labels_is_accepted():
    data = labeled([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert sizes(checked_split("mine", [ids(0), ids(1), ids(2)], data)) == [1, 1, 1]


def test_masks_hold_exactly_the_ids_and_the_graph_is_untouched(two_cliques):
    keys = set(two_cliques.keys())
    masked = checked_split("mine", [ids(5, 0), ids(1), ids(2, 4)], two_cliques).apply(two_cliques)
    assert masked.train_mask.tolist() == [True, False, False, False, False, True]
    assert masked.val_mask.tolist() == [False, True, False, False, False, False]
    assert masked.test_mask.tolist() == [False, False, True, False, True, False]
    assert set(two_cliques.keys()) == keys


def test_masks_are_a_public_split(two_cliques):
    split = checked_split("mine", [ids(5, 0), ids(1), ids(2, 4)], two_cliques)
    public = make_split(split.apply(two_cliques), "public")
    assert public.hash == split.hash
    assert public.name == "public"


def test_a_graph_without_masks_has_no_public_split(two_cliques):
    with pytest.raises(ConfigError, match=r"^This graph has no public split. Choose from: random"):
        make_split(two_cliques, "public")


def test_a_random_split_has_the_fractions_asked_for_and_takes_every_node(hundred):
    split = make_split(hundred, "random", SplitConfig(train_fraction=0.25, val_fraction=0.5))
    assert sizes(split) == [25, 50, 25]
    assert sorted(every_id(split)) == list(range(100))


def test_by_default_three_fifths_train_and_one_fifth_validates(hundred):
    assert sizes(make_split(hundred, "random")) == [60, 20, 20]


def test_a_stratified_split_has_the_fractions_within_each_class(hundred):
    split = make_split(hundred, "stratified")
    for part, expected in zip(PARTS, ([30, 18, 12], [10, 6, 4], [10, 6, 4]), strict=True):
        assert torch.bincount(hundred.y[getattr(split, part)]).tolist() == expected
    assert sorted(every_id(split)) == list(range(100))


def test_a_per_class_split_has_the_same_number_of_training_nodes_a_class(hundred):
    config = SplitConfig(labels_per_class=7, val_fraction=0.25)
    split = make_split(hundred, "per-class", config)
    assert torch.bincount(hundred.y[split.train]).tolist() == [7, 7, 7]
    assert sizes(split) == [21, 19, 60]  # a quarter of the other 79, rounded down
    assert sorted(every_id(split)) == list(range(100))


def test_a_class_with_too_few_nodes_for_a_per_class_split_is_refused(hundred):
    message = "class 2 has 20 labeled nodes, got 21.$"
    with pytest.raises(DataError, match=f"^labels_per_class must be at most .*{message}"):
        make_split(hundred, "per-class", SplitConfig(labels_per_class=21))


def test_a_graph_too_small_for_its_fractions_is_refused(path_graph):
    message = r"^The val part of split 'random-0' must not be empty: .* Raise val_fraction, or give"
    with pytest.raises(DataError, match=message):
        make_split(path_graph, "random")


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(0, 20))
def test_every_class_trains_in_a_stratified_split_and_validates_if_it_has_three(counts, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    train, val, test = draw_stratified(labels, 0.1, 0.2, np.random.default_rng(seed))
    assert sorted(np.concatenate([train, val, test])) == list(range(labels.size))
    for label, count in enumerate(counts):
        assert (labels[train] == label).sum() == 1  # a tenth of at most twelve
        assert (labels[val] == label).sum() == (max(count // 5, 1) if count > 2 else 0)


def test_classes_too_small_to_validate_are_refused_with_what_to_do():
    with pytest.raises(DataError, match=r"^The val part of split 'stratified-0' must not be empty"):
        make_split(labeled([0, 0, 1, 1]), "stratified")
    split = make_split(labeled([0, 0, 1, 1, 1]), "stratified")
    assert sizes(split) == [2, 1, 2]


def test_a_training_share_that_is_not_set_counts_where_the_shares_are_added(hundred):
    config = SplitConfig(val_fraction=0.5)
    with pytest.raises(ConfigError, match=r"must be below 1 to leave test nodes, got 0\.6 \+ 0\.5"):
        make_split(hundred, "random", config)
    assert sizes(make_split(hundred, "per-class", config)) == [60, 20, 20]  # takes no such share


@given(
    st.sampled_from(DRAWN),
    st.lists(st.integers(-1, 2), min_size=30, max_size=60),
    st.integers(0, 1000),
)
def test_a_drawn_split_takes_every_labeled_node_once_and_no_other(kind, labels, seed):
    labels = [0] * 10 + [1] * 10 + [2] * 10 + labels
    config = SplitConfig(train_fraction=0.3, val_fraction=0.3, labels_per_class=3, split_seed=seed)
    split = make_split(labeled(labels), kind, config)
    known = [node for node, label in enumerate(labels) if label >= 0]
    assert sorted(every_id(split)) == known


@pytest.mark.parametrize("kind", DRAWN)
def test_the_same_seed_draws_the_same_split_and_another_seed_another(hundred, kind):
    first, second, other = (
        make_split(hundred, kind, SplitConfig(split_seed=seed, labels_per_class=5))
        for seed in (3, 3, 4)
    )
    assert first.hash == second.hash
    assert first.hash != other.hash
    assert first.name == f"{kind}-3"


@pytest.mark.parametrize("kind", DRAWN)
def test_several_labels_a_node_can_be_split(kind):
    labels = torch.eye(4).repeat(25, 1)
    labels[:, 3] = 1.0
    config = SplitConfig(labels_per_class=5)
    assert sorted(every_id(make_split(labeled(labels), kind, config))) == list(range(100))


def numpy_keys() -> np.ndarray:
    keys: np.ndarray = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    return keys


def test_drawing_a_split_leaves_the_global_generators_alone(hundred):
    torch_state, numpy_state = torch.get_rng_state(), numpy_keys().copy()
    make_split(hundred, "stratified")
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(numpy_keys(), numpy_state)


def test_an_unknown_kind_is_refused_with_the_known_ones(path_graph):
    with pytest.raises(ConfigError, match=r"^Unknown split 'rnadom'. Choose from: public, random"):
        make_split(path_graph, "rnadom")


@pytest.mark.parametrize(("train", "val"), [(0.5, 0.5), (0.8, 0.4)])
def test_fractions_that_leave_no_test_nodes_are_refused(train, val):
    with pytest.raises(ConfigError, match=r"^train_fraction \+ val_fraction must be below 1"):
        SplitConfig(train_fraction=train, val_fraction=val)


@given(st.permutations(range(9)), st.integers(0, 1000))
def test_the_hash_does_not_depend_on_the_order_of_ids(order, seed):
    shuffle = np.random.default_rng(seed).permutation
    parts = [torch.tensor(order[low : low + 3]) for low in (0, 3, 6)]
    shuffled = [part[torch.from_numpy(shuffle(3))] for part in parts]
    assert Split("a", *parts).hash == Split("b", *shuffled).hash


def test_the_hash_tells_splits_apart():
    splits = [
        ((0, 1), (2,), (3,)),
        ((0,), (1, 2), (3,)),  # the same ids in a row, cut elsewhere
        ((0,), (1,), (2, 3)),
        ((0, 1), (3,), (2,)),  # parts swapped
        ((0, 1), (2,), (4,)),
        ((0, 1), (2,), (3, 4)),
    ]
    hashes = {Split("a", *map(torch.tensor, parts)).hash for parts in splits}
    assert len(hashes) == len(splits)


def test_a_split_file_is_read_by_its_path(tmp_path, two_cliques):
    path = write(tmp_path / "mine.npz", train=ids(5, 0), val=ids(1), test=ids(2, 4))
    split = make_split(two_cliques, str(path))
    assert [getattr(split, part).tolist() for part in PARTS] == [[0, 5], [1], [2, 4]]
    assert split.name == "mine"


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64])
def test_a_split_file_may_hold_any_whole_numbers(tmp_path, path_graph, dtype):
    parts = {part: np.array([node], dtype) for node, part in enumerate(PARTS)}
    assert every_id(read_split(write(tmp_path / "s.npz", **parts), path_graph)) == [0, 1, 2]


def test_a_split_file_is_checked_like_any_split(tmp_path, path_graph):
    path = write(tmp_path / "mine.npz", train=ids(0), val=ids(0), test=ids(2))
    with pytest.raises(DataError, match=r"^Split 'mine' has node 0 both in train and in val.$"):
        read_split(path, path_graph)


def test_a_split_file_that_is_not_there_is_refused_with_its_path(tmp_path, path_graph):
    with pytest.raises(DataError, match=r"^There is no split file .*nowhere\.npz\.$"):
        make_split(path_graph, str(tmp_path / "nowhere.npz"))


def test_a_split_file_without_an_array_is_refused_with_its_name(tmp_path, path_graph):
    path = write(tmp_path / "s.npz", train=ids(0), test=ids(1))
    with pytest.raises(DataError, match=r"must hold arrays train, val and test, missing val.$"):
        read_split(path, path_graph)


@pytest.mark.parametrize(
    "array", [np.array([0.0]), np.array([True]), np.array([[0]]), np.array(0), np.array(["0"])]
)
def test_an_array_that_is_no_list_of_ids_is_refused(tmp_path, path_graph, array):
    path = write(tmp_path / "s.npz", train=array, val=ids(1), test=ids(2))
    with pytest.raises(DataError, match=r"^train in .* must be a list of node ids, got"):
        read_split(path, path_graph)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_split_file_is_refused_with_its_path(tmp_path, path_graph, share):
    path = write(tmp_path / "cut.npz", train=ids(0), val=ids(1), test=ids(2))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(
        DataError, match=r"cut\.npz is (empty|not a readable \.npz file of numbers)"
    ):
        read_split(path, path_graph)


def test_an_array_of_pickled_objects_is_refused_and_not_unpickled(tmp_path, path_graph, trap):
    objects = np.array([trap], dtype=object)
    path = write(tmp_path / "s.npz", train=objects, val=ids(1), test=ids(2))
    with pytest.raises(DataError, match=r"s\.npz: train must hold numbers or texts, got object"):
        read_split(path, path_graph)
    assert not trap.folder.exists()
    with np.load(path, allow_pickle=True) as arrays:  # the trap does work
        assert arrays["train"].shape == (1,)
    assert trap.folder.exists()


def test_a_pickle_named_npz_is_refused_and_not_unpickled(tmp_path, path_graph, trap):
    path = tmp_path / "s.npz"
    path.write_bytes(pickle.dumps(trap))
    with pytest.raises(DataError, match=r"is not a readable \.npz file of numbers"):
        read_split(path, path_graph)
    assert not trap.folder.exists()


def test_a_single_array_named_npz_is_refused(tmp_path, path_graph):
    with (tmp_path / "s.npz").open("wb") as file:
        np.save(file, ids(0, 1, 2))
    with pytest.raises(DataError, match=r"is not a readable \.npz file"):
        read_split(tmp_path / "s.npz", path_graph)


def test_a_damaged_compressed_split_file_is_refused_wherever_it_is_damaged(tmp_path):
    data = labeled([0, 1] * 500)
    path = tmp_path / "s.npz"
    np.savez_compressed(path, train=np.arange(0, 300), val=np.arange(300, 600), test=ids(999))
    whole = path.read_bytes()
    before = read_split(path, data).hash
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:  # a few bytes, such as dates, carry no meaning
            assert read_split(path, data).hash == before
        except DataError:
            continue


def test_a_share_that_is_whole_in_decimals_is_met_exactly(hundred):
    config = SplitConfig(train_fraction=0.29, val_fraction=0.57)
    assert sizes(make_split(hundred, "random", config)) == [29, 57, 14]


@given(st.integers(100, 400), st.integers(1, 60), st.integers(1, 38))
def test_a_share_in_percent_is_rounded_down_as_whole_numbers_are(num_nodes, train, val):
    config = SplitConfig(train_fraction=train / 100, val_fraction=val / 100)
    split = make_split(labeled([0] * num_nodes), "random", config)
    assert sizes(split)[:2] == [train * num_nodes // 100, val * num_nodes // 100]


@pytest.mark.parametrize("kind", ["public", *DRAWN, "mine.npz"])
def test_a_graph_without_labels_cannot_be_split(path_graph, kind):
    path_graph.y = None
    with pytest.raises(DataError, match=r"^A graph without labels y cannot be split"):
        make_split(path_graph, kind)


@pytest.mark.real
def test_the_public_split_of_cora_is_the_one_of_the_authors(data_root):
    from gaug.data.catalog.loading import load_graph

    data = load_graph("cora", data_root)
    public = make_split(data, "public")
    theirs = make_split(data, str(data_root / "splits" / "cora.npz"))
    assert sizes(public) == [140, 500, 1000]
    assert public.hash == theirs.hash


@pytest.mark.real
@pytest.mark.parametrize("name", ["citeseer", "blogcatalog", "flickr", "air-usa"])
def test_the_splits_of_the_authors_fit_the_graphs(data_root, name):
    from gaug.data.catalog.loading import load_graph

    data = load_graph(name, data_root)
    split = read_split(data_root / "splits" / f"{name}.npz", data)
    assert len(set(every_id(split))) == sum(sizes(split)) <= data.num_nodes
