// RUN: tma-opt %s --cse --tile-verify --mlir-print-ir-after-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER-ALL
// RUN: tma-opt %s --cse --tile-verify --mlir-print-ir-before-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEFORE-ALL
// RUN: tma-opt %s --cse --tile-verify --mlir-print-ir-after=tile-verify -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: tma-opt %s --pass-pipeline='builtin.module(func.func(cse),tile-verify)' --mlir-print-ir-before=cse -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: not tma-opt %s --nvvm-attach-target=chip=sm_1 --mlir-print-ir-after-failure -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAILURE

// AFTER-ALL: // -----// IR Dump After CSE (cse) //----- //
// AFTER-ALL-NEXT: module
// AFTER-ALL: // -----// IR Dump After TileVerify (tile-verify) //----- //

// BEFORE-ALL: // -----// IR Dump Before CSE (cse) //----- //
// BEFORE-ALL: // -----// IR Dump Before TileVerify (tile-verify) //----- //

// AFTER-NOT: IR Dump After CSE
// AFTER: IR Dump After TileVerify (tile-verify)

// BEFORE: IR Dump Before CSE (cse)
// BEFORE-NEXT: {{^}}func.func @f
// BEFORE-NOT: IR Dump Before TileVerify

// FAILURE: IR Dump After GpuNVVMAttachTarget Failed (nvvm-attach-target)
func.func @f() { return }

gpu.module @kernels {
}
