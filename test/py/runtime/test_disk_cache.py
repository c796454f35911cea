import os
import signal
import subprocess
import sys
import time

import pytest

from tma_mlir.runtime.disk_cache import DiskCache, default_folder, digest

KEY = digest("module", "sm_90a")


def test_what_is_put_is_got(tmp_path):
    cache = DiskCache(tmp_path)
    assert cache.get(KEY) is None
    cache.put(KEY, b"cubin")
    assert DiskCache(tmp_path).get(KEY) == b"cubin"


def test_keys_depend_on_every_part_and_on_the_cuts():
    keys = [digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("ab", "c", ""), digest("c", "ab")]
    assert len(set(keys)) == len(keys)
    assert digest("a") == digest(b"a")


def test_damage_is_a_miss_and_is_removed(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put(KEY, b"cubin" * 100)
    (file,) = tmp_path.glob("*/*.entry")
    for damaged in (file.read_bytes()[:-1], b"", b"\0" * 600):
        file.write_bytes(damaged)
        assert cache.get(KEY) is None
        assert not file.exists()


def test_the_oldest_go_first(tmp_path):
    cache = DiskCache(tmp_path, limit_bytes=3 * 132)
    keys = [digest(str(i)) for i in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.put(key, b"x" * 100)  # 132 B with its hash
        os.utime(cache._path(key), (1000 + age, 1000 + age))
    assert cache.get(keys[0])  # used just now
    cache.put(keys[3], b"x" * 100)
    assert [cache.get(key) is not None for key in keys] == [True, False, True, True]
    assert cache.size_bytes() <= cache.limit_bytes


def test_leftovers_of_killed_writers_are_swept_when_old(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put(KEY, b"cubin")
    old, new = tmp_path / KEY[:2] / "old.partial", tmp_path / KEY[:2] / "new.partial"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1000, 1000))
    cache.put(digest("other"), b"cubin")
    assert not old.exists()
    assert new.exists()  # somebody may be writing it


def test_an_unusable_folder_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "folder")
    cache.put(KEY, b"cubin")
    assert cache.get(KEY) is None


def test_the_folder_is_chosen_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TMA_MLIR_CACHE_DIR", raising=False)
    assert default_folder() == tmp_path / "tma_mlir"
    monkeypatch.setenv("TMA_MLIR_CACHE_DIR", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"


WORKER = """
import sys
from tma_mlir.runtime.disk_cache import DiskCache, digest
cache = DiskCache(sys.argv[1], limit_bytes=20 * 100_000)
seed, rounds = int(sys.argv[2]), int(sys.argv[3])
for step in range(rounds):
    number = (seed * 7 + step) % 40
    content = bytes([number]) * 100_000
    found = cache.get(digest(str(number)))
    assert found is None or found == content, number
    cache.put(digest(str(number)), content)
"""


def worker(folder, seed, rounds):
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), str(seed), str(rounds)])


def test_processes_share_it_while_writers_are_killed(tmp_path):
    steady = [worker(tmp_path, seed, 150) for seed in range(3)]
    for seed in range(3, 7):
        victim = worker(tmp_path, seed, 100_000)
        time.sleep(0.3)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert [process.wait() for process in steady] == [0, 0, 0]
    cache = DiskCache(tmp_path, limit_bytes=20 * 100_000)
    for number in range(40):
        assert cache.get(digest(str(number))) in (None, bytes([number]) * 100_000)
    cache.put(KEY, b"last")
    entries = sum(path.stat().st_size for path in tmp_path.glob("*/*.entry"))
    assert entries <= cache.limit_bytes


def test_an_entry_under_another_name_is_none(tmp_path):
    """A copied file would be another kernel's."""
    cache = DiskCache(tmp_path)
    one, two = digest("one"), digest("two")
    cache.put(one, b"kernel one")
    target = cache._path(two)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(cache._path(one).read_bytes())
    assert cache.get(one) == b"kernel one"
    assert cache.get(two) is None
    assert not target.exists()


def test_what_is_in_the_way_is_a_miss(tmp_path):
    cache, key = DiskCache(tmp_path), digest("one")
    cache._path(key).mkdir(parents=True)
    assert cache.get(key) is None
    cache.put(key, b"x")
    assert cache.get(key) is None
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "below"):
        DiskCache(folder).put(key, b"x")
        assert DiskCache(folder).get(key) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_in_the_place_of_an_entry_is_not_waited_for(tmp_path):
    cache, key = DiskCache(tmp_path), digest("one")
    cache._path(key).parent.mkdir()
    os.mkfifo(cache._path(key))
    assert cache.get(key) is None
    cache.put(key, b"x")
    assert cache.get(key) == b"x"
