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
# What an exception's words are about. Order: what is named by few words and meant when it is named goes first.
_BY_WORDS = (
    (r"proxy|max retries exceeded|couldn't connect to|certificate verify|name resolution", Category.NETWORK_PROXY),
    (r"out of memory|\bOOM\b", Category.DEVICE_OUT_OF_MEMORY),
    (r"cannot allocate memory|bad_alloc", Category.HOST_OUT_OF_MEMORY),
    (r"address already in use", Category.PORT_IN_USE),
    (r"speculat|\bdraft|eagle|medusa|\bmtp\b|nextn|dflash|dspark|\bn-?gram|lookahead", Category.SPECULATION),
    (
        (
            r"compute capability|unsupported arch|\bsm_?\d\d|\bsm\d|blackwell|hopper|ampere|turing|\bgfx\d|"
            r"not (?:supported|compiled|available) (?:on|for) (?:this|the current)? ?(?:gpu|device|platform|arch)"
        ),
        Category.ARCH_MISMATCH,
    ),
    (
        (
            r"quant|\bfp8|\bfp4|nvfp4|mxfp|\bint[48]\b|\bawq|gptq|marlin|modelopt|compressed.tensors|bitsandbytes|"
            r"weight_scale|scale_inv|qweight|group_size|block_[nk]\b|e4m3|\bw\d+a\d+"
        ),
        Category.QUANTIZATION,
    ),
    (
        (
            r"\bnccl|\bgloo\b|all.?reduce|all.?gather|all.?to.?all|symm_?mem|rendezvous|process group|deepep|nvshmem|"
            r"\bucx|nixl|mooncake|tcpstore|infiniband|\bib device|peer access|connection (?:refused|reset|closed)"
        ),
        Category.COMMUNICATION,
    ),
    (
        r"\bnvcc|ninja|ptxas|nvrtc|inductor|c compiler|cuda_home|cuda toolkit|compilation|\bjit\b",
        Category.JIT_TOOLCHAIN,
    ),
    (
        (
            r"cuda error|cudaerror|illegal memory|device-side|misaligned|cublas|cudnn|cutlass|shared memory|\bgemm\b|"
            r"kernel (?:launch|failed|error)|tensor map"
        ),
        Category.KERNEL_FAULT,
    ),
    (
        (
            r"undefined symbol|shared object|no module named|cannot import|not installed|pip install|"
            r"(?:incompatible|mismatched|minimum|required) .{0,20}version|driver"
        ),
        Category.ENVIRONMENT_MISMATCH,
    ),
    (
        (
            r"max_model_len|max_num_batched_tokens|max_num_seqs|kv.?cache|cache blocks|context length|too long|"
            r"max_seq_len|memory pool"
        ),
        Category.CAPACITY_TOO_SMALL,
    ),
    (
        (
            r"checkpoint|safetensors|tokenizer|config\.json|model type|architecture|weights?\b|state_dict|"
            r"chat template|hf_config|gguf|tensor '|layers\.\d+|repo(?:sitory)?\b"
        ),
        Category.MODEL_FILES,
    ),
    (
        (
            r"--[a-z]|unrecognized|must be (?:set|one of|a multiple|divisible|positive|greater|between|at least)|"
            r"(?:not|only) supported|not compatible|cannot be (?:used|combined)|requires? |"
            r"invalid (?:value|option|choice)|"
            r"unknown (?:option|argument|backend)"
        ),
        Category.BAD_ARGUMENTS,
    ),
    (r"timed? ?out|timeout|deadlock|hang\b", Category.HANG),
)
_WORDS = tuple((re.compile(pattern, re.IGNORECASE), category) for pattern, category in _BY_WORDS)
_INNERMOST = 4


def category_of(type_name: str, message: str, places: list[str]) -> Category | None:
    """Return what an unknown exception is about: by its type, else its words, else the innermost places, else None.

    Args:
        type_name: exception class without its module.
        message: its text.
        places: files with functions of the stack, the innermost last.
    """
    by_type = _BY_TYPE.get(type_name)
    if by_type is not None:
        return by_type
    by_words = category_of_words(message)
    if by_words is not None:
        return by_words
    for place in reversed(places[-_INNERMOST:]):
        for pattern, category in _BY_PLACE:
            if pattern.search(place):
                return category
    return None


def category_of_words(message: str) -> Category | None:
    """Return what the words of an error are about, None where they name nothing known."""
    return next((category for pattern, category in _WORDS if pattern.search(message)), None)
