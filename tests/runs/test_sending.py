"""Jobs for other processes take copies of tensors along and leave the tensors where they are."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gaug.runs import sending
from gaug.runs.sending import pack, unpack


def echo(packed: bytes, answer: Any) -> None:
    received = unpack(packed)
    answer.put({name: value.detach().to_dense().numpy().copy() for name, value in received.items()})


def sent_through_a_process(tensors: dict[str, Tensor]) -> dict[str, np.ndarray]:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=echo, args=(pack(tensors), answer))
    process.start()
    found: dict[str, np.ndarray] = answer.get(timeout=60)
    process.join()
    return found


def test_another_process_receives_the_values_of_every_kind_of_tensor():
    base = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "dense": base,
        "part": base[1:, ::2],
        "sparse": base.to_sparse_csr(),
        "weights": torch.nn.Parameter(base * 2),
        "empty": torch.empty(0, 3),
    }
    received = sent_through_a_process(tensors)
    for name, value in tensors.items():
        np.testing.assert_array_equal(received[name], value.detach().to_dense().numpy())


def test_a_tensor_stays_where_it_is_for_those_who_hold_an_array_on_it():
    tensor = torch.arange(1000)
    array, place = tensor.numpy(), tensor.data_ptr()
    pack([tensor, tensor[10:]])
    assert not tensor.is_shared()
    assert tensor.data_ptr() == place
    tensor[0] = 7
    assert array[0] == 7


def test_a_tensor_is_copied_once_for_all_jobs_and_not_kept_longer_than_it_lives():
    pack([])  # forgets what others have left behind
    before = len(sending._copies)
    tensor = torch.arange(1000)
    for _ in range(3):
        pack([tensor, tensor[5:], tensor.reshape(10, 100)])
        assert len(sending._copies) == before + 1
    del tensor
    pack([])
    assert len(sending._copies) == before
