"""Predictions come out of a record exactly as they went in."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gaug.runs.predictions import pack_predictions, unpack_predictions


@given(st.lists(st.integers(0, 100_000)))
def test_class_ids_come_back(classes):
    back = unpack_predictions(pack_predictions(torch.tensor(classes, dtype=torch.long)))
    assert back.dtype == torch.long
    assert back.tolist() == classes


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0)))
def test_truth_values_of_several_labels_come_back(truth):
    back = unpack_predictions(pack_predictions(torch.from_numpy(truth)))
    assert back.dtype == torch.bool
    assert back.shape == truth.shape
    assert back.tolist() == truth.tolist()


def test_they_take_little_room():
    classes = torch.randint(7, (1000,), generator=torch.Generator().manual_seed(0))
    assert len(pack_predictions(classes)) < 600
    assert len(pack_predictions(torch.rand(1000, 6) > 0.5)) < 1500


def test_the_given_tensor_is_left_as_it_was():
    classes = torch.tensor([3, 1])
    pack_predictions(classes)
    assert classes.dtype == torch.long
    assert classes.tolist() == [3, 1]
