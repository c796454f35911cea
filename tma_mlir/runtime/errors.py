"""What can go wrong at run time, as exceptions that say what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class RuntimeFault(RuntimeError):
    """Base of everything the runtime raises, apart from the ``TypeError`` and ``ValueError`` kinds below."""


class NoDevice(RuntimeFault):
    """There is no driver or no GPU to run on."""


class CudaError(RuntimeFault):
    """The driver refused ``call`` with the result ``name`` (``CUDA_ERROR_...``, number ``code``)."""

    def __init__(self, call: str, name: str, code: int, context: str = "") -> None:
        self.call, self.name, self.code, self.context = call, name, code, context
        remedy = REMEDIES.get(name, "")
        parts = [f"{call} failed: {name} ({code})", context, remedy]
        super().__init__(". ".join(part for part in parts if part))

    def __reduce__(self) -> tuple[Any, ...]:
        return CudaError, (self.call, self.name, self.code, self.context)

    @property
    def sticky(self) -> bool:
        """Whether the context is lost: every later call fails in the same way until the process ends."""
        return self.name in STICKY


class Unloaded(RuntimeFault):
    """The kernel was unloaded and cannot be launched."""


class ArgumentTypeError(TypeError):
    """Wrong number or kinds of arguments. ``problems``: one text each."""

    def __init__(self, kernel: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        self.kernel = kernel
        super().__init__(numbered(f"kernel {kernel!r} cannot be called with these arguments", problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return ArgumentTypeError, (self.kernel, self.problems)


class DescriptorError(ValueError):
    """A tensor map breaks the hardware's rules. ``problems``: one text each, with value and remedy."""

    def __init__(self, what: str, problems: Sequence[str]) -> None:
        self.what, self.problems = what, tuple(problems)
        super().__init__(numbered(what, problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return DescriptorError, (self.what, self.problems)


def numbered(head: str, problems: Sequence[str]) -> str:
    """``head: problem``, or a numbered list when there are several."""
    if len(problems) == 1:
        return f"{head}: {problems[0]}"
    return "\n".join([f"{head}: {len(problems)} problems", *(f"  {i}. {p}" for i, p in enumerate(problems, 1))])


_LATER = (
    "The fault may belong to an earlier launch: set TMA_MLIR_DEBUG=1, which waits for every launch and names the one "
    "that failed. The context is lost, so the process has to start again"
)

STICKY = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
    }
)

REMEDIES = {
    "CUDA_ERROR_NO_DEVICE": "No NVIDIA GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the simulator",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "The kernel module and libcuda have different versions: reboot or reinstall "
    "the driver",
    "CUDA_ERROR_SYSTEM_NOT_READY": "The fabric manager or the driver is not ready yet: check nvidia-smi",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "The kernel was compiled for another chip: compile it with chip='native'",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "The driver is older than the compiler: update the driver",
    "CUDA_ERROR_INVALID_IMAGE": "The cubin is damaged or newer than the driver: compile again, or update the driver",
    "CUDA_ERROR_NOT_FOUND": "The cubin has no kernel of that name: it does not belong to this signature",
    "CUDA_ERROR_OUT_OF_MEMORY": "Free device memory, or use a smaller problem",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "The block needs more registers or shared memory than an SM has: use fewer "
    "threads, or compare kernel.resources with the device's limits",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "A cooperative launch needs all blocks resident at once: use a smaller "
    "grid",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "Up to 8 blocks a cluster are portable; the grid must be a multiple of the "
    "cluster",
    "CUDA_ERROR_INVALID_CONTEXT": "No context of this device is current, or the stream belongs to another device",
    "CUDA_ERROR_INVALID_HANDLE": "A stream or kernel was destroyed, or belongs to another device",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "The stream is being captured into a graph: only launches on arrays that "
    "are on the device can be captured",
    "CUDA_ERROR_ILLEGAL_ADDRESS": f"A kernel touched memory it may not. {_LATER}",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "A kernel died in an instruction; for TMA: an innermost start coordinate that is "
    f"not a multiple of 16 B, a store at a negative coordinate, or an unsupported reduction. {_LATER}",
    "CUDA_ERROR_MISALIGNED_ADDRESS": f"A kernel used a misaligned address; for TMA: a shared tile that is not on a "
    f"128 B boundary. {_LATER}",
    "CUDA_ERROR_LAUNCH_FAILED": f"A kernel died. {_LATER}",
    "CUDA_ERROR_LAUNCH_TIMEOUT": f"A kernel ran too long; for TMA: an mbarrier that is never completed. {_LATER}",
}
