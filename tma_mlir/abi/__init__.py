"""What a kernel takes and how it is passed: the contract between compiler, runtime and simulator.

Imports neither MLIR nor the CUDA driver.
"""
