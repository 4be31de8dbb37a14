"""Text from files that are damaged, binary or bombs: an error that names the place."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from gaug.data.opening import open_graph
from gaug.data.tables.text_lines import lines_of, text_blocks
from gaug.data.tables.text_table import TextTable
from gaug.errors import DataError


def read(path: Path) -> str:
    return "".join(text_blocks(path))


def test_blocks_are_the_file_and_end_at_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = "".join(f"{i},é\r\n" for i in range(400_000)) + "last"
    path.write_bytes(text.encode())
    blocks = list(text_blocks(path))
    assert "".join(blocks) == text
    assert len(blocks) > 2
    assert all(block.endswith("\n") for block in blocks[:-1])
    assert [line for block in blocks for line in lines_of(block)] == text.splitlines(keepends=True)


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_lines_are_the_same_whatever_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("gaug.data.tables.text_lines._BLOCK", block)
    path = tmp_path / "t.csv"
    text = "a,b\r\nb,c\rc,d\n\r\nd,é\r\n"
    path.write_bytes(text.encode())
    lines = [line for part in text_blocks(path) for line in lines_of(part)]
    assert lines == ["a,b\r\n", "b,c\r", "c,d\n", "\r\n", "d,é\r\n"]


def test_bad_utf8_names_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nc,é\n".encode() + b"d,x\xffy\n")
    with pytest.raises(DataError, match=r"t.csv, line 3, byte 4: .* UTF-8, got the byte 0xff"):
        read(path)


def test_a_binary_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\nc,\0\n")
    with pytest.raises(DataError, match="line 2 holds a zero byte"):
        read(path)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(20):
            file.write(b"1," * 2**19)
    with pytest.raises(DataError, match=r"line 2: a line must have at most 16,777,216 bytes"):
        read(path)


def test_a_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gaug.data.tables.text_lines._UNPACKED_BYTES", 2**20)
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 2**20))
    with pytest.raises(DataError, match=r"unpacks to more than .* unpack it yourself"):
        open_graph(tmp_path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n2,3\n" * 1000)[:-10])
    with pytest.raises(DataError, match="cannot be unpacked, it is damaged or cut off"):
        open_graph(tmp_path)


def test_a_file_outside_the_folder_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n")
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "edges.csv").symlink_to(secret)
    with pytest.raises(DataError, match=r"leads out of its folder") as error:
        open_graph(folder)
    assert error.value.topic == "edges-file"
    (folder / "edges.csv").unlink()
    (folder / "real.csv").write_text("a,b\n")
    (folder / "edges.csv").symlink_to("real.csv")
    assert open_graph(folder).data.num_nodes == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edges.csv")
    with pytest.raises(DataError, match="must be a regular file"):
        open_graph(tmp_path)


def test_a_row_of_a_million_cells_and_more_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("1," * 1_500_000)
    with pytest.raises(DataError, match=r"at most 1,000,000 cells, the first has 1,500,001"):
        open_graph(tmp_path)


def test_wide_rows_after_a_narrow_one_are_not_gathered(tmp_path: Path) -> None:
    """Each takes a megabyte of pointers; two hundred of them would take 200."""
    (tmp_path / "edges.csv").write_text("a,b\n" + ("," * 131_072 + "\n") * 200)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"line 2: a row must have 2 cells .* got 131,073"):
            open_graph(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()


def test_a_long_cell_makes_no_column_long(tmp_path: Path) -> None:
    """An array of texts would need a hundred gigabytes here."""
    path = tmp_path / "features.csv"
    rows = "".join(f"{i},{i}\n" for i in range(200_000))
    path.write_text(f"-1,{'9' * 130_000}\n{rows}")
    (tmp_path / "edges.csv").write_text("0,1\n")
    with pytest.raises(DataError, match=r"line 1, column 2: a feature must be a finite number"):
        open_graph(tmp_path)


def test_lines_are_counted_over_quoted_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,"x\ny"\n\nb,c\nd\n')
    table = TextTable.of(path)
    with pytest.raises(DataError, match=r"line 5: a row must have 2 cells"):
        list(table.chunks())
    path.write_text('a,"x\ny"\n\nb,c\n')
    assert table.texts(1) == [["x\ny", "c"]]
    assert table.place(1, 0) == f"{path}, line 4, column 1"
