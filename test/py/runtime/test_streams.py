"""Streams of other packages as handles. cuda.core itself is no dependency: what counts is the protocol it speaks."""

from types import SimpleNamespace

import pytest

from tma_mlir.runtime.streams import handle_of


class Stream:
    """As cuda.core's: ``__cuda_stream__`` gives the protocol's version and the handle."""

    def __cuda_stream__(self):
        return 0, 0x1234


class CUstream:
    """As that of cuda.bindings: the handle is its integer value."""

    def __int__(self):
        return 0x55


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(7, 7), (Stream(), 0x1234), (CUstream(), 0x55), (SimpleNamespace(cuda_stream=9), 9), (SimpleNamespace(ptr=3), 3)],
)
def test_handles(stream, handle):
    assert handle_of(stream) == handle


def test_a_stream_of_cuda_core(monkeypatch):
    core = pytest.importorskip("cuda.core")
    # One made of a handle needs no GPU.
    try:
        stream = core.Stream.from_handle(0x77)
    except Exception as error:
        pytest.skip(f"cuda.core makes no stream here: {error}")
    assert handle_of(stream) == 0x77


def test_what_is_no_stream():
    with pytest.raises(TypeError, match="str is not a stream: needed: an int, an object with __cuda_stream__"):
        handle_of("default")
