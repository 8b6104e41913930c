"""Files are written whole or not at all."""

import os

import pytest

from viz import files
from viz.errors import UserError


def test_writes_text_and_bytes_and_makes_folders(tmp_path):
    assert files.write(tmp_path / "new" / "a.txt", "π").read_text(encoding="utf-8") == "π"
    assert files.write(tmp_path / "b.bin", b"\0\1").read_bytes() == b"\0\1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.bin", "new"]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    by_hand = tmp_path / "by_hand"
    by_hand.write_text("")
    assert files.write(tmp_path / "a", "").stat().st_mode == by_hand.stat().st_mode


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = files.write(tmp_path / "a.txt", "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UserError, match=r"a\.txt: No space left on device"):
        files.write(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_a_folder_and_a_folder_below_a_file_are_refused(tmp_path):
    with pytest.raises(UserError, match="it is a folder"):
        files.write(tmp_path, "x")
    files.write(tmp_path / "file", "x")
    with pytest.raises(UserError, match=r"file is a file, not a folder"):
        files.write(tmp_path / "file" / "below", "x")


def test_a_name_that_the_system_cannot_take_is_the_users_to_mend(tmp_path):
    with pytest.raises(UserError, match="cannot write"):
        files.write(tmp_path / ("x" * 300), "x")


def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path):
    target = files.write(tmp_path / "target.txt", "old")
    target.chmod(0o600)
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    files.write(link, "new")
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o600)


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / "a.txt", "x")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_legal_name(tmp_path):
    assert files.write(tmp_path / ("x" * 250), "y").read_text() == "y"


def test_a_device_is_not_replaced():
    with pytest.raises(UserError, match="it is a device or a pipe"):
        files.write(os.devnull, "x")
