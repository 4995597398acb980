"""What an exception that no signature knows still says: its type, and where in the engine it was raised."""

from __future__ import annotations

import re

from shakedown.domain.words import Category

_BY_TYPE = {
    "OutOfMemoryError": Category.DEVICE_OUT_OF_MEMORY,
    "MemoryError": Category.HOST_OUT_OF_MEMORY,
    "ImportError": Category.ENVIRONMENT_MISMATCH,
    "ModuleNotFoundError": Category.ENVIRONMENT_MISMATCH,
    "ArgumentError": Category.BAD_ARGUMENTS,
    "AcceleratorError": Category.KERNEL_FAULT,
    "OutOfResources": Category.KERNEL_FAULT,
    "CompilationError": Category.JIT_TOOLCHAIN,
    "DistBackendError": Category.COMMUNICATION,
    "DistNetworkError": Category.COMMUNICATION,
    "DistStoreError": Category.COMMUNICATION,
    "SafetensorError": Category.MODEL_FILES,
    "RepositoryNotFoundError": Category.MODEL_FILES,
    "GatedRepoError": Category.MODEL_FILES,
    "EntryNotFoundError": Category.MODEL_FILES,
    "LocalEntryNotFoundError": Category.MODEL_FILES,
    "HFValidationError": Category.MODEL_FILES,
    "ProxyError": Category.NETWORK_PROXY,
    "SSLError": Category.NETWORK_PROXY,
    "MaxRetryError": Category.NETWORK_PROXY,
}
# The innermost frames say which part of an engine refused. Order: the narrower part first.
_BY_PLACE = (
    (re.compile(r"spec_decode|speculative|eagle|_mtp\b|draft"), Category.SPECULATION),
    (re.compile(r"/quantization/|modelopt|compressed_tensors|marlin"), Category.QUANTIZATION),
    (re.compile(r"server_args|arg_utils|llm_args|arg_groups|argparse|/vllm/config"), Category.BAD_ARGUMENTS),
    (re.compile(r"model_loader|weight_utils|load_weights|safetensors|/transformers/"), Category.MODEL_FILES),
    (re.compile(r"device_communicators|parallel_state|c10d|distributed_c10d|pynccl"), Category.COMMUNICATION),
    (
        re.compile(r"/flashinfer/jit|_inductor|/triton/(?:compiler|backends|runtime/build)|cpp_extension"),
        Category.JIT_TOOLCHAIN,
    ),
)
_INNERMOST = 4


def category_of(type_name: str, places: list[str]) -> Category | None:
    """Return a category by exception type, else by the innermost places (files and functions), else None."""
    by_type = _BY_TYPE.get(type_name)
    if by_type is not None:
        return by_type
    for place in reversed(places[-_INNERMOST:]):
        for pattern, category in _BY_PLACE:
            if pattern.search(place):
                return category
    return None
