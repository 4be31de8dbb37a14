from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gaug.data.folders import cache_folder, data_root, written_atomically


def test_a_given_data_root_counts_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GAUG_DATA", str(tmp_path / "other"))
    assert data_root(tmp_path / "given") == tmp_path / "given"


def test_the_environment_names_the_data_root(monkeypatch, tmp_path):
    monkeypatch.setenv("GAUG_DATA", str(tmp_path))
    assert data_root() == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_data_root_is_below_the_folder_of_the_user(monkeypatch, tmp_path, value):
    monkeypatch.delenv("GAUG_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("GAUG_DATA", value)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name: str(tmp_path / name))
    assert data_root() == tmp_path / "gaug" / "graphs"


def test_the_environment_names_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GAUG_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_without_it_the_cache_is_in_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("GAUG_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    assert cache_folder() == tmp_path / "gaug"


def test_a_tilde_is_the_home_of_the_user(monkeypatch):
    monkeypatch.setenv("GAUG_DATA", "~/graphs")
    monkeypatch.setenv("GAUG_CACHE", "~/cache")
    assert data_root() == Path.home() / "graphs"
    assert cache_folder() == Path.home() / "cache"
    assert data_root(Path("~/mine")) == Path.home() / "mine"


def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path):
    path = tmp_path / "new" / "folder" / "file.txt"
    with written_atomically(path) as temporary:
        temporary.write_text("all of it", encoding="utf-8")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "all of it"
    assert list(path.parent.iterdir()) == [path]


def test_readers_see_the_old_file_until_the_block_ends(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old", encoding="utf-8")
    with written_atomically(path) as temporary:
        temporary.write_text("new", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_keeps_the_old_file_and_leaves_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old", encoding="utf-8")

    def write_half():
        with written_atomically(path) as temporary:
            temporary.write_text("half of", encoding="utf-8")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_file_has_the_ending_of_the_file(tmp_path):
    with written_atomically(tmp_path / "graph.npz") as temporary:
        assert temporary.suffix == ".npz"  # numpy.savez adds another otherwise


def test_a_file_has_the_rights_of_any_new_file(tmp_path):
    with written_atomically(tmp_path / "ours") as temporary:
        temporary.write_text("x", encoding="utf-8")
    (tmp_path / "plain").write_text("x", encoding="utf-8")
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain")]
    assert rights[0] == rights[1]
