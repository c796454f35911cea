"""Text to kernels: signatures, PTX, errors, chips."""

from pathlib import Path

import pytest

from support.copy_kernels import global_type, load
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument
from tma_mlir.chips import CHIPS
from tma_mlir.codec import from_data, to_data
from tma_mlir.compile.compiler import CompileError, compile_file, compile_text
from tma_mlir.dtypes import dtype
from tma_mlir.plan import Swizzle

TOP = Path(__file__).resolve().parents[3]
DEMO = (TOP / "examples" / "copy_8x256.mlir").read_text()


def test_demonstration_has_the_reference_descriptor():
    compiled = compile_text(DEMO)
    (planned,) = compiled.plans
    (map_,) = planned.plan.tensor_maps
    assert (map_.dims, map_.strides_bytes, map_.box) == ((64, 8, 4), (512, 128), (64, 8, 4))
    assert map_.swizzle is Swizzle.B128
    assert planned.plan.instruction_count == 1
    assert compiled.ptx.count("cp.async.bulk.tensor.3d") == 1


def test_signature_lists_descriptors_and_user_arguments():
    signature = compile_text(DEMO).signatures["copy_8x256"]
    half = MemRefArgument(dtype("f16"), (8, 256), (256, 1), 0)
    assert signature.arguments == (half, half)
    assert [each.argument for each in signature.tensor_maps] == [0]
    assert (signature.grid, signature.block) == ((1, 1, 1), (128, 1, 1))
    assert signature.bare_pointers


def test_descriptor_parameter_is_aligned_and_never_copied_to_local_memory():
    compiled = compile_text(DEMO)
    assert ".param .align 128 .b8 copy_8x256_param_0[128]" in compiled.ptx
    assert ".local" not in compiled.ptx
    assert compiled.cubin is not None
    assert compiled.cubin.data.startswith(b"\x7fELF")


@pytest.mark.parametrize("chip", CHIPS)
def test_every_chip_assembles(chip):
    compiled = compile_text(DEMO, chip)
    assert f".target {chip}\n" in compiled.ptx
    assert compiled.cubin is not None


def test_scalars_and_dynamic_memrefs_expand_the_kernel_parameters():
    text = """
    !barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    gpu.module @m {
      memref.global "private" @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
      gpu.func @k(%in: memref<?x512xf16>, %row: index, %scale: f32) kernel {
        %c0 = arith.constant 0 : index
        %bar = nvgpu.mbarrier.create -> !barrier
        %tile = memref.get_global @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
        "tile.copy_async"(%in, %tile, %row, %bar, %c0) {
          static_source_offsets = array<i64: -9223372036854775808, 64>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
        } : (memref<?x512xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
        gpu.return
      }
    }"""
    signature = compile_text(text).signatures["k"]
    assert not signature.bare_pointers
    assert signature.arguments == (
        MemRefArgument(dtype("f16"), (None, 512), (512, 1), 0),
        ScalarArgument(dtype("i64")),
        ScalarArgument(dtype("f32")),
    )
    (parameter,) = signature.tensor_maps
    assert [str(each) for each in parameter.tensor_map.dims] == ["512", "arg0.dim0"]


def test_errors_carry_file_line_and_column(tmp_path):
    path = tmp_path / "broken.mlir"
    path.write_text("module {\n  func.func @f() {\n    nonsense\n  }\n}\n")
    with pytest.raises(CompileError, match=r"broken\.mlir:3:5: error: "):
        compile_file(path)


def test_unknown_chip_names_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown chip 'sm_80'. TMA exists from sm_90 on"):
        compile_text(DEMO, "sm_80")


def test_kernel_that_host_code_launches_gets_its_descriptors_from_there():
    text = (
        DEMO.rstrip().removesuffix("}")
        + """
      func.func @host(%a: memref<8x256xf16>, %b: memref<8x256xf16>) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @kernels::@copy_8x256 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
          args(%a : memref<8x256xf16>, %b : memref<8x256xf16>)
        return
      }
    }"""
    )
    compiled = compile_text(text, keep=("nvgpu",))
    assert "nvgpu.tma.create.descriptor" in compiled.texts["nvgpu"]
    assert "nvgpu.tma.fence.descriptor" in compiled.texts["nvgpu"]
    assert compiled.signatures == {}


def test_two_gpu_modules_become_one_cubin():
    second = DEMO.replace("@kernels", "@others").replace("@copy_8x256", "@second")
    body = second[second.index("gpu.module") : second.rindex("}")]
    text = DEMO.rstrip().removesuffix("}") + body + "}"
    compiled = compile_text(text)
    assert set(compiled.signatures) == {"copy_8x256", "second"}
    assert compiled.ptx.count(".version") == 1
    assert compiled.cubin is not None
    assert set(compiled.cubin.resources) == {"copy_8x256", "second"}


def test_a_reduction_that_would_need_a_guard_is_refused_with_both_reasons():
    text = """
    gpu.module @m {
      gpu.func @k(%out: memref<64x256xf16>, %column: index)
          workgroup(%tile: memref<16x64xf16, #gpu.address_space<workgroup>>) kernel {
        "tile.copy_async"(%tile, %out, %column) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, -9223372036854775808>,
          sizes = array<i64: 16, 64>, reduce = "add", operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>
        } : (memref<16x64xf16, #gpu.address_space<workgroup>>, memref<64x256xf16>, index) -> ()
        gpu.return
      }
    }"""
    with pytest.raises(CompileError, match=r"legal for TMA only where .*; and no other way can make this copy"):
        compile_text(text)


@pytest.mark.parametrize("level", [-1, 4, "x"])
def test_an_optimisation_level_that_llvm_does_not_have(level):
    with pytest.raises(ValueError, match=r"opt_level .* is not one of 0, 1, 2, 3"):
        compile_text(DEMO, opt_level=level)


def test_two_kernels_of_one_name_cannot_be_in_one_cubin():
    start, end = DEMO.index("  gpu.module"), DEMO.rindex("}")
    module = DEMO[start:end]
    twice = DEMO[:end] + module.replace("gpu.module @", "gpu.module @second_") + DEMO[end:]
    with pytest.raises(CompileError, match=r"-:\d+:\d+: error: kernel @copy_8x256 is in two gpu.modules"):
        compile_text(twice)


@pytest.mark.parametrize(
    ("variant", "shape", "element", "relies_on"),
    [
        ("tma", [64, 256], "f16", 1),  # the descriptor's own rule asks for 16 bytes
        ("bulk", [64, 256], "f16", 16),
        ("cp_async", [64, 256], "f16", 16),
        ("cp_async", [64, 258], "f16", 4),  # rows of 516 bytes: every row is a multiple of 4
        ("simt", [64, 257], "f16", 1),  # one element at a time, whose own size is checked anyway
        ("simt", [64, 260], "f16", 8),
    ],
)
def test_signature_says_what_copies_rely_on(variant, shape, element, relies_on):
    """Bulk copies need 16 bytes (PTX ISA), vectors their own size; ``%out`` is written one element at a time."""
    text = load(global_type(shape, element), [16, 64], element=element, attributes=f'variant = "{variant}"')
    signature = compile_text(text, assemble_cubin=False).signatures["k"]
    source, out = signature.arguments
    assert isinstance(source, MemRefArgument)
    assert isinstance(out, MemRefArgument)
    assert (source.alignment, out.alignment) == (relies_on, 1)
    assert from_data(KernelSignature, to_data(signature)) == signature
