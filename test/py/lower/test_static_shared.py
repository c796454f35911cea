"""Static shared memory in front of dynamic shared memory."""

import pytest

from tma_mlir.bindings import ir
from tma_mlir.dialect import make_context
from tma_mlir.lower.static_shared import pack_static_shared, size_bytes


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("i64", 8),
        ("f16", 2),
        ("!llvm.array<0 x i8>", 0),
        ("!llvm.array<8 x array<256 x f16>>", 4096),
        ("!llvm.array<4 x vector<4 x f32>>", 64),
        ("!llvm.array<3 x i1>", 3),
        ("!llvm.array<2 x ptr<3>>", 16),
    ],
)
def test_sizes_of_what_memrefs_lower_to(type_, size):
    with make_context():
        assert size_bytes(ir.Type.parse(type_)) == size


def test_variables_keep_their_alignment_and_the_block_is_whole_kilobytes():
    text = """gpu.module @m {
      llvm.mlir.global private @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<3 x i64>
      llvm.mlir.global private @tile() {addr_space = 3 : i32, alignment = 512 : i64} : !llvm.array<600 x i8>
      llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 1024 : i64}
        : !llvm.array<0 x i8>
      llvm.func @f() -> !llvm.ptr<3> {
        %0 = llvm.mlir.addressof @barrier : !llvm.ptr<3>
        llvm.return %0 : !llvm.ptr<3>
      }
      llvm.func @g() -> !llvm.ptr<3> {
        %0 = llvm.mlir.addressof @tile : !llvm.ptr<3>
        llvm.return %0 : !llvm.ptr<3>
      }
    }"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        pack_static_shared(module.body.operations[0].operation, 1024)
        assert module.operation.verify()
        result = str(module)
    assert "@__static_shmem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<1024 x i8>" in result
    assert "@barrier" not in result
    assert "@__dynamic_shmem__0" in result
    # The tile comes first (widest alignment), the barrier at the next multiple of 16.
    assert "llvm.getelementptr %0[608] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8" in result
