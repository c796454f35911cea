"""From MLIR to kernels: the compiler's stages, the assembler, the signature that the host follows."""
