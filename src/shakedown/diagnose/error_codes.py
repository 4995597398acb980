"""Error codes of what lies beneath the engines: each has one meaning, whatever the words round it.

Names and texts are those of the public headers: CUDA runtime and driver
(https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html), cuBLAS, cuDNN, HIP, NCCL
(https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html), Vulkan's ``VkResult``, UCX, errno(3), the
dynamic loader, HTTP, Python's own words for calls and imports that do not fit, and how a shell or Python reports a
signal.
"""

from __future__ import annotations

import re

from shakedown.domain.words import Category

_CODES = (
    (
        Category.MODEL_FILES,
        (
            r"(?:401|403|404) Client Error.{0,200}(?:huggingface|hf\.co|hf-mirror|modelscope)",
            r"gated repo",
        ),
    ),
    (
        Category.PORT_IN_USE,
        (
            r"EADDRINUSE",
            r"errno 98\b",
            r"address already in use",
        ),
    ),
    (
        Category.ENVIRONMENT_MISMATCH,
        (
            r"undefined symbol",
            r"undefined reference to `",
            r"cannot open shared object",
            r"cannot load shared",
            r"GLIBC(?:XX)?_\d",
            r"CXXABI_",
            r"invalid ELF header",
            r"wrong ELF class",
            r"DLL load failed",
            r"Symbol not found: ",
            r"got an unexpected keyword argument",
            r"takes (?:from )?\d+ (?:to \d+ )?positional argument",
            r"missing \d+ required (?:positional|keyword-only) argument",
            r"expected (?:at most|at least|exactly) \d+ argument",
            r"incompatible (?:function|constructor) arguments",
            r"cannot import name",
            r"No module named",
        ),
    ),
    (
        Category.DEVICE_OUT_OF_MEMORY,
        (
            r"(?:cuda|hip)_?error_?(?:memory_?allocation|out_?of_?memory)",
            r"out_?of_?device_?memory",
            r"(?:CUBLAS|CUDNN|CUSPARSE)_STATUS_ALLOC_FAILED",
            r"ErrorOutOfPoolMemory",
            r"UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
        ),
    ),
    (
        Category.HOST_OUT_OF_MEMORY,
        (
            r"ENOMEM",
            r"errno 12\b",
            r"out_?of_?host_?memory",
            r"cudaErrorHostMemory",
            r"bad_alloc",
            r"OOMKilled",
            r"oom-kill",
            r"(?:exit ?code|exited with|returncode|status|code)\W{0,4}(?:-9|137)\b",
            r"\bSIGKILL\b",
            r"signal 9\b",
        ),
    ),
    (
        Category.ARCH_MISMATCH,
        (
            (
                r"(?:cuda|hip)_?error_?(?:no_?kernel_?image|no_?binary_?for|invalid_?device_?function|"
                r"shared_?object_?init)"
            ),
            r"(?:CUBLAS|CUDNN)_STATUS_ARCH_MISMATCH",
            r"no kernel image is available",
            r"device kernel image is invalid",
            r"invalid device function",
        ),
    ),
    (
        Category.GPU_BUSY,
        (
            r"(?:cuda|hip)_?error_?(?:devices?_?unavailable|device_?already_?in_?use|contexts?_?already_?in_?use)",
            r"devices? (?:is|are|\(s\) is/are) busy or unavailable",
        ),
    ),
    (
        Category.ENVIRONMENT_MISMATCH,
        (
            (
                r"(?:cuda|hip)_?error_?(?:insufficient_?driver|no_?device\b|system_?(?:driver_?mismatch|"
                r"not_?ready)|compat_?not_?supported|unsupported_?ptx_?version|stub_?library|initialization_?error|not_?initialized|operating_?system|call_?requires_?newer_?driver|jit_?compiler_?not_?found)"
            ),
            r"Error ?80[234]: ",
            r"VK_ERROR_INCOMPATIBLE_DRIVER",
            r"VK_ERROR_INITIALIZATION_FAILED",
            r"ErrorInitializationFailed",
            r"(?:CUBLAS|CUDNN)_STATUS_(?:NOT_INITIALIZED|VERSION_MISMATCH|SUBLIBRARY|LICENSE)",
            r"NVML_ERROR",
            r"no CUDA-capable device",
            r"no CUDA GPUs are available",
            r"\bSIGILL\b",
            r"illegal instruction \(",
            r"CUDA error.{0,80}: initialization error",
            r"EMFILE",
            r"errno 24\b",
            r"EROFS",
            r"errno 30\b",
            r"EACCES",
            r"errno 13\b",
            r"EPERM",
            r"errno 1\]",
        ),
    ),
    (
        Category.COMMUNICATION,
        (
            r"\bnccl(?:System|UnhandledCuda|Internal|Remote|InvalidUsage|InvalidArgument)(?:Error)?\b",
            r"NCCL WARN(?!.*out of memory)",
            r"cuda_?error_?(?:peer_?access|nvlink|map_?buffer|invalid_?device\b|too_?many_?peers)",
            r"UCS_ERR",
            r"ECONNREFUSED",
            r"ECONNRESET",
            r"EHOSTUNREACH",
            r"ENETUNREACH",
            r"errno (?:104|110|111|113|101)\b",
            r"IBV_WC_",
            r"ibv_\w+ failed",
        ),
    ),
    (
        Category.KERNEL_FAULT,
        (
            (
                r"(?:cuda|hip)_?error_?(?:illegal_?(?:address|instruction)|misaligned|launch_?(?:failure|"
                r"failed|timeout|out_?of_?resources)|assert\b|hardware_?stack|invalid_?pc|ecc_?uncorrectable|uncorrectable|invalid_?configuration|graph_?exec|stream_?capture|not_?permitted|invalid_?address_?space|cooperative_?launch)"
            ),
            r"(?:cuda|hip) error.{0,200}: invalid configuration argument",
            r"NVRM: Xid",
            r"ErrorDeviceLost",
            r"VK_ERROR_DEVICE_LOST",
            r"device lost",
            (
                r"(?:CUBLAS|CUDNN|CUSPARSE)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|INVALID_VALUE|"
                r"NOT_SUPPORTED|BAD_PARAM|MAPPING_ERROR)"
            ),
            r"CUFFT_",
            r"illegal memory access",
            r"misaligned address",
            r"device-side assert",
            r"unspecified launch failure",
            r"\bSIG(?:SEGV|BUS|FPE|ABRT)\b",
            r"segmentation fault",
            r"core dumped",
            r"(?:exit ?code|exited with|returncode|code)\W{0,4}(?:-11|-6|139|134|-7)\b",
        ),
    ),
    (
        Category.NETWORK_PROXY,
        (
            r"(?:Response|status(?: code)?|HTTP(?:/\d\.\d)?|error)\W{0,3}(?:407|502|503|504)\b",
            r"CERTIFICATE_VERIFY_FAILED",
            r"EAI_AGAIN",
            r"getaddrinfo",
            r"Temporary failure in name resolution",
            r"Name or service not known",
            r"\[Errno -[235]\]",
        ),
    ),
)
CODES = tuple((re.compile("|".join(codes), re.IGNORECASE), category) for category, codes in _CODES)


def code_category(message: str) -> Category | None:
    """Return what the first error code in a line stands for, None where it holds none that decides."""
    return next((category for pattern, category in CODES if pattern.search(message)), None)
