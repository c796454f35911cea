"""Files, pipes and streams of the tools: each outcome as a shell sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tma_mlir.diagnostics import Place
from tma_mlir.files import NotText, decoded, write_whole

TOP = Path(__file__).resolve().parents[3]
COPY = TOP / "examples" / "copy_8x256.mlir"
SCALE = """gpu.module @m {
  gpu.func @k(%a: memref<4xi8>, %s: i8) kernel
      attributes {known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    memref.store %s, %a[%t] : memref<4xi8>
    gpu.return
  }
}
"""


def shell(line: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    """What a shell line with the tools in it ends with."""
    names = {f"TMA_{name}": f"{sys.executable} {TOP}/tools/tma-{name.lower()}" for name in ("OPT", "RUN", "EXPLAIN")}
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        cwd=folder,
        env={**os.environ, **names, **environment},
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "copy.mlir").write_text(COPY.read_text())
    (tmp_path / "scale.mlir").write_text(SCALE)
    return tmp_path


EXPECTED = "memref.global"
NO_SPACE = "error: cannot write standard output: No space left on device\n"
CLOSED = "error: cannot write standard output: Bad file descriptor\n"

LINES = [
    ("$TMA_OPT <(cat copy.mlir)", 0, EXPECTED, ""),
    ("cat copy.mlir | $TMA_OPT /dev/stdin", 0, EXPECTED, ""),
    ("mkfifo f; cat copy.mlir > f & sleep 0.1; timeout 20 $TMA_RUN f --device sim", 0, "verified", ""),
    ("$TMA_OPT copy.mlir > /dev/full", 1, "", f"tma-opt: {NO_SPACE}"),
    ("$TMA_RUN scale.mlir --device sim --arg 1=3 > /dev/full", 1, "", f"tma-run: {NO_SPACE}"),
    ("$TMA_EXPLAIN copy.mlir > /dev/full", 1, "", f"tma-explain: {NO_SPACE}"),
    ("$TMA_OPT copy.mlir >&-", 1, "", f"tma-opt: {CLOSED}"),
    ("$TMA_OPT - <&-", 1, "", "tma-opt: error: cannot read standard input: Bad file descriptor\n"),
    ("$TMA_OPT copy.mlir 2>&-", 0, EXPECTED, ""),
    ("$TMA_OPT nothing.mlir >&- 2>&-", 1, "", ""),
    ("$TMA_OPT copy.mlir | true; exit ${PIPESTATUS[0]}", 1, "", ""),
    ("$TMA_OPT copy.mlir -o /dev/full", 1, "", "tma-opt: error: cannot write '/dev/full': No space left on device\n"),
    ("$TMA_RUN scale.mlir --device sim --arg 1=3 --out 0=/dev/full", 1, "executed", "'/dev/full': No space left"),
    ("$TMA_RUN scale.mlir --device sim --arg 1=3 --out 0=x && ls x", 0, "x\n", ""),
    ("cp copy.mlir ü.mlir; LC_ALL=C PYTHONIOENCODING=ascii $TMA_EXPLAIN ü.mlir", 0, "ü.mlir:", ""),
    ("cp scale.mlir $'a\\xff.mlir'; $TMA_RUN $'a\\xff.mlir' --device sim --arg 1=300", 1, "", "300 does not fit i8"),
    ("cp copy.mlir $'a\"\\n\\xff.mlir'; $TMA_EXPLAIN $'a\"\\n\\xff.mlir'", 0, 'a"\n\udcff.mlir:', ""),
]


@pytest.mark.parametrize(("line", "code", "out", "err"), LINES, ids=[line for line, *_ in LINES])
def test_what_a_shell_sees(line, code, out, err, folder):
    if not Path("/dev/full").exists() and "/dev/full" in line:
        pytest.skip("there is no /dev/full")
    found = shell(line, folder)
    assert found[0] == code, found
    assert out in found[1]
    assert err in found[2]
    assert (err != "") == (found[2] != ""), found[2]
    assert "Traceback" not in found[2]


def test_every_tool_reads_a_byte_order_mark(tool, tmp_path):
    file = tmp_path / "mark.mlir"
    file.write_bytes(b"\xef\xbb\xbf" + COPY.read_bytes())
    for name in ("tma-opt", "tma-explain"):
        assert tool(name, file).code == 0


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"// \xff\xfe odd\nmodule {}", "// ?? odd\nmodule {}"),
        (b"\xef\xbb\xbfmodule {}", "module {}"),
        ("// ü\n".encode(), "// ü\n"),
        (b'a = "// " // \xe9', 'a = "// " // ?'),
    ],
)
def test_bytes_of_comments_do_not_matter(data, text):
    assert decoded(data, "f") == text


@pytest.mark.parametrize(
    ("data", "place", "says"),
    [
        ("é\n  é".encode("latin-1"), (1, 1), "byte 0xe9 is not UTF-8"),
        (b'// \xff\nx = "\xfe"', (2, 6), "byte 0xfe is not UTF-8"),
        ("module {}".encode("utf-16"), (1, 1), "this is UTF-16"),
        ("ü".encode() + b" \xff", (1, 4), "byte 0xff"),
    ],
)
def test_what_is_not_text_is_said_with_its_place(data, place, says):
    with pytest.raises(NotText, match=says) as error:
        decoded(data, "f")
    assert error.value.diagnostic.place == Place("f", *place)


def test_a_file_is_whole_or_as_before(tmp_path, monkeypatch):
    """Also where it is a link, with its permissions."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert (link.is_symlink(), real.read_bytes(), real.stat().st_mode & 0o777) == (True, b"new", 0o640)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(link, b"newer")
    assert real.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [link, real]


def test_readers_never_see_a_part(tmp_path):
    file, sizes, done = tmp_path / "f", set(), threading.Event()
    write_whole(file, b"a" * 1_000_000)

    def read():
        while not done.is_set():
            sizes.add(len(file.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        write_whole(file, b"b" * 1_000_000)
    done.set()
    reader.join()
    assert sizes == {1_000_000}


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "f", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
