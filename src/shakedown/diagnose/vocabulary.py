"""Which words and types stand for which kind of failure, whatever the engine and its wording.

Read by ``exceptions.py`` for lines that no signature knows. Within a table the earlier entry wins: what is named by few
words, and meant when it is named, goes first.
"""

from __future__ import annotations

import re

from shakedown.domain.words import Category

CERTAIN_TYPES = {
    "OutOfMemoryError": Category.DEVICE_OUT_OF_MEMORY,
    "MemoryError": Category.HOST_OUT_OF_MEMORY,
    "ArgumentError": Category.BAD_ARGUMENTS,
    "OutOfResources": Category.KERNEL_FAULT,
    "CompilationError": Category.JIT_TOOLCHAIN,
    "BackendCompilerFailed": Category.JIT_TOOLCHAIN,
    "InductorError": Category.JIT_TOOLCHAIN,
    "PTXASError": Category.JIT_TOOLCHAIN,
    "MLIRError": Category.JIT_TOOLCHAIN,
    "InvalidURL": Category.NETWORK_PROXY,
    "DeferredCudaCallError": Category.ENVIRONMENT_MISMATCH,
    "NVMLError": Category.ENVIRONMENT_MISMATCH,
    "DSLRuntimeError": Category.JIT_TOOLCHAIN,
    "TemplateError": Category.MODEL_FILES,
    "DistBackendError": Category.COMMUNICATION,
    "DistNetworkError": Category.COMMUNICATION,
    "DistStoreError": Category.COMMUNICATION,
    "KVTransferError": Category.COMMUNICATION,
    "SafetensorError": Category.MODEL_FILES,
    "RepositoryNotFoundError": Category.MODEL_FILES,
    "RevisionNotFoundError": Category.MODEL_FILES,
    "GatedRepoError": Category.MODEL_FILES,
    "EntryNotFoundError": Category.MODEL_FILES,
    "LocalEntryNotFoundError": Category.MODEL_FILES,
    "HFValidationError": Category.MODEL_FILES,
    "UnpicklingError": Category.MODEL_FILES,
    "TemplateSyntaxError": Category.MODEL_FILES,
}
NETWORK_TYPES = frozenset(
    {"ProxyError", "SSLError", "MaxRetryError", "ConnectTimeout", "ConnectError", "NameResolutionError", "gaierror"}
)
"""What HTTP clients raise before a request has reached anybody: said by the type, whatever code stands in the text."""
LIKELY_TYPES = {
    "ImportError": Category.ENVIRONMENT_MISMATCH,
    "ModuleNotFoundError": Category.ENVIRONMENT_MISMATCH,
    "PackageNotFoundError": Category.ENVIRONMENT_MISMATCH,
    "PermissionError": Category.ENVIRONMENT_MISMATCH,
    "AttributeError": Category.ENVIRONMENT_MISMATCH,
    "NameError": Category.ENVIRONMENT_MISMATCH,
    "TypeError": Category.ENVIRONMENT_MISMATCH,
    "NotImplementedError": Category.ARCH_MISMATCH,
    "AcceleratorError": Category.KERNEL_FAULT,
    "IndexError": Category.KERNEL_FAULT,
    "RuntimeError": Category.KERNEL_FAULT,
    "KeyError": Category.MODEL_FILES,
    "FileNotFoundError": Category.MODEL_FILES,
    "JSONDecodeError": Category.MODEL_FILES,
    "UnicodeDecodeError": Category.MODEL_FILES,
    "OSError": Category.MODEL_FILES,
    "ValueError": Category.BAD_ARGUMENTS,
    "ValidationError": Category.BAD_ARGUMENTS,
    "VLLMValidationError": Category.BAD_ARGUMENTS,
    "ZMQError": Category.COMMUNICATION,
    "HfHubHTTPError": Category.NETWORK_PROXY,
    "AssertionError": Category.BAD_ARGUMENTS,
    "TimeoutError": Category.HANG,
    "ConnectionError": Category.NETWORK_PROXY,
}
"""What an exception is most often about where neither its words nor its frames say more."""

# What is meant when it is named.
_TELLING = (
    (
        (
            r"trust[-_]remote[-_]code|contains custom code|"
            r"(?<!cuda )(?<!hip )(?<!driver )(?<!runtime )error: (?:unrecognized|invalid|unknown) argument|"
            r"error while handling argument|invalid (?:parameter|value) for argument|"
            r": error: (?:the following arguments|argument |ambiguous option|one of the arguments)|"
            r"expected (?:one|at least one|\d+) arguments?$|no such option|not allowed with argument|invalid choice:|"
            r"(?:argument|option|flag) .{0,30}(?:has been|was) removed|"
            r"(?:number|count) of (?:\w+ )?(?:visible |available |physical )?(?:gpus|devices)|"
            r"(?:available|visible|physical) (?:gpus|devices) \(?\d|larger than .{0,40}\bgpus?\b|"
            r"only \d+ (?:gpus?|devices?)|mpisize == tp|"
            r"invalid (?:reasoning|tool)\w* parser|expected one of|(?:valid|allowed) (?:options|choices|values)"
        ),
        Category.BAD_ARGUMENTS,
    ),
    (
        (
            r"address already in use|failed to bind|eaddrinuse|couldn't bind|"
            r"\bport (?:\d+ )?is (?:already|in use|taken|not available)"
        ),
        Category.PORT_IN_USE,
    ),
    (
        (
            r"\bproxy|max retries exceeded|couldn't connect to|certificate|name resolution|httpsconnection|"
            r"connect timeout|\b(?:401|403|407|502|503|504)\b.{0,20}(?:client|server|gateway|proxy|for url)|"
            r"(?:failed to|cannot|could not|unable to) (?:download|fetch)|download .{0,40}failed|offline mode|"
            r"error (?:downloading|fetching)|curl error|\bdns\b"
        ),
        Category.NETWORK_PROXY,
    ),
    (
        (
            r"pinned (?:host )?memory|cannot allocate memory|bad_alloc|cudamallochost|cudahost(?:alloc|register)|"
            r"host memory|cpu.{0,30}failed to allocate|failed to mmap|oom.?kill|killed process|"
            r"memory pressure|\bcpu (?:memory|ram)\b|system memory|shared memory limit|node running low on memory"
        ),
        Category.HOST_OUT_OF_MEMORY,
    ),
    (
        (
            r"occupied by other|used by other processes|free memory on device|"
            r"devices?(?:\(s\))? .{0,20}(?:busy|unavailable)"
        ),
        Category.GPU_BUSY,
    ),
    (
        (
            r"out of (?:device |gpu |video )?memory|outof(?:device)?memory|\boom\b|cudamalloc|mem.?fraction|"
            r"(?:insufficient|not enough|too little|no available) (?:free )?(?:gpu|device|video|cuda|vram)?.?memory|"
            r"device memory allocation|(?:gpu|device|video|cuda) memory\b.{0,60}could not be allocated|"
            r"(?:failed|unable) to allocate .{0,60}(?:cuda|vulkan|rocm|hip|metal|"
            r"sycl|gpu|vram|"
            r"device)"
        ),
        Category.DEVICE_OUT_OF_MEMORY,
    ),
    (
        (
            r"processes are hanging|watchdog timeout|hang detected|detected a hang|health check failed|"
            r"stopped responding|couldn't get a response|no response (?:from|within)|rpc call to \w+ timed out|"
            r"heartbeat|timed out waiting for (?:the )?(?:engine|worker|server|core|scheduler)|"
            r"^(?!.*(?:mooncake|nixl|nccl|rdma|bootstrap)).*(?:did not|failed to) "
            r"(?:start|respond|become ready|finish) (?:with)?in"
        ),
        Category.HANG,
    ),
    (
        (
            r"speculat|\bdraft|_draft|drafter|eagle|medusa|\bmtp\b|[a-z]mtp\b|mtp[._]|nextn|dflash|dspark|"
            r"\bn-?gram|lookahead|"
            r"accept(?:ed|ance)[ _]?(?:length|rates?|tokens)|suffix.?decoding|\bproposer|"
            r"tree.?mask|verify.?tokens|bonus.?tokens|"
            r"\bnum_spec(?!ial)|\bspec_(?:tokens|steps|len|info|decode|algo)|hot_token|set_embed|\bmidlayer|target.?(?:model|verify)"
        ),
        Category.SPECULATION,
    ),
    (
        (
            r"\bnvcc|\bninja|ptxas|nvrtc|nvjitlink|nvlink (?:error|fatal|warning)|"
            r"cuda_home|cuda toolkit|c(?:\+\+)? compiler|\bgcc\b|g\+\+|\bclang|"
            r"compilation (?:failed|error|terminated)|in the compilation|building extension|"
            r"failed to compile|compile error|cuobjdump|"
            r"fatal error: .{0,80}\.(?:h|cuh|hpp)\b|toolkit headers|jit/\w+\.hpp|inductor|"
            r"functionaliz|backendcompiler|torchdynamo|_dynamo|aot_?autograd|torch[._]compile|"
            r"identifier .{0,80} is undefined|undefined reference|"
            r"cannot find -l|torch_cuda_arch_list|passmanager|mlir|llvm|ptx codegen|kernels in the library|"
            r"triton installation|triton is not installed|__assertfail|\bjit\b|cpp_extension|cutlass.?dsl|"
            r"cute\.?dsl|tilelang(?!.{0,60}support)"
        ),
        Category.JIT_TOOLCHAIN,
    ),
    (
        (
            r"\b(?:this|current|\w+ attention) build (?:does|cannot|was)|\bto be installed|be installed first|"
            r"(?:tokenizer|processor)'?(?: object)? has no attribute|"
            r"please (?:re|un)?install\b|\boutdated\b|to a newer version|minimum required version|"
            r"requires (?:a newer |the )?(?:flashinfer|deep.?gemm|triton|flash.?attn|cutlass|transformers)\b(?:'s)?"
            r"(?!.{0,20}(?:backend|attention|kernels?\b)).{0,40}\b(?:apis?|version|package|build)\b"
        ),
        Category.ENVIRONMENT_MISMATCH,
    ),
    (
        (
            r"missing [\w-]{1,30} kernel|unavailable .{0,60}\bon (?:the |this |your )?current (?:platform|gpu|device)|"
            r"(?:invalid|unsupported) activation|expect\b.{0,40}head_?dim|"
            r"(?:attention|attn|backend|kernel|impl|runner|experts?)\w* (?:does not|doesn't|do not) (?:yet )?support|"
            r"selected backend \S+ is not valid|expects arch to be|"
            r"(?:flash|triton|cutlass|trtllm|deep.?gemm)\w* .{0,60}not (?:yet )?supported|"
            r"(?:compute|device|min(?:imum)?|current).?capability|\bis_sm\d|\bsm \d+\.|unsupported arch|"
            r"unsupported (?:gpu|sm)|unknown (?:recipe|sf )|\bsm_?\d\d|\bsm\d|"
            r"blackwell|hopper|\bampere|\bturing|volta|pascal|\bgfx\d|kernel image|device code|fp8e4nv|"
            r"fp8e4b\d|fp8e5b\d|cuda.?arch|"
            r"compute_\d\d|"
            r"\brtx\b|\bgb10\b|\b[bh][123]00\b|\ba100\b|head.?(?:size|dim)\w*.{0,40}(?:support|invalid|must)|"
            r"(?:support|invalid|unsupported).{0,40}head.?(?:size|dim)|"
            r"not (?:yet )?(?:supported|compiled|available|implemented|enabled) (?:on|for|in|by) (?:this|the|your)? ?"
            r"(?:current )?(?:gpu|device|platform|arch|hardware|card)|no (?:valid|suitable|usable|supported|"
            r"compatible|"
            r"available) (?:\w+ ){0,3}(?:backend|kernel|implementation|tactic)|"
            r"kernels? (?:are |is |was |were )?not found|(?:backend|"
            r"kernel)s? \S* ?(?:does not|do "
            r"not|doesn't) support|no (?:\w+ ){0,3}(?:backend|kernel) (?:supports|available|found)|error internal|"
            r"(?:backend|kernel)s? (?:is|are) not (?:supported|available)|"
            r"not supported by (?:\w+ ){0,3}(?:backend|kernel)|kernels? only supports?|"
            r"unsupported (?:\w+ ){0,3}backend|this (?:gpu|device|hardware)|your gpu|"
            r"(?:not |un|only )support\w* (?:for|by|in|with|on) (?:the )?(?:flash|triton|cutlass|trtllm|deep.?gemm|"
            r"marlin|fa[234]|"
            r"xformers|cudnn|aiter)|(?:flash\w*|triton|cutlass|trtllm\w*|deepgemm|cudnn) (?:\w+ ){0,3}"
            r"(?:does not|doesn't|only) supports?"
        ),
        Category.ARCH_MISMATCH,
    ),
    (
        (
            r"^(?:argument )?--[a-z]|mutually exclusive|"
            r"--[a-z].{0,120}(?:incompatible with|not supported with|"
            r"cannot be (?:used|combined|set)|conflicts? with|requires? --)"
        ),
        Category.BAD_ARGUMENTS,
    ),
    (
        (
            r"undefined symbol|shared object|no module named|cannot import|failed to import|not installed|pip install|"
            r"failed to initialize (?:cuda|hip|rocm)|could not load any|json\.exception\.|"
            r"is already used by an? |already (?:been )?registered|"
            r"version.{0,60}(?:mismatch|does not match|incompatible|too old|not found|required|or (?:newer|"
            r"higher|later))|"
            r"(?:incompatible|mismatched|minimum|requires?|required|expected|unsupported) .{0,40}version|"
            r"\bdriver\b(?! error| api)|nvml|forked subprocess|has no field|could not load this library|"
            r"infer device type|deserializ|serializ|engine (?:file|plan)|"
            r"unexpected keyword argument|positional argument|"
            r"no attribute .{0,3}(?:__version__|_)|please (?:upgrade|downgrade|update|reinstall|install)|"
            r"glibc|cxxabi|supported wheel|compatibility issue|"
            r"\babi\b|\buva\b|built (?:with|for|against)|compiled with|operator \S+ does not exist|_mapping\b|"
            r"could not run '|but an? \w+ was expected|failed to apply \w+processor|"
            r"library.{0,20}(?:not found|could not|cannot)|numpy|protobuf|remaining_buffer_size"
        ),
        Category.ENVIRONMENT_MISMATCH,
    ),
    (
        (
            r"quant|\bquark|torchao|auto.?round|modelslim|activation.?scheme|\bnum_bits|\b[2-8].?bits?\b|"
            r"\bfp8|_fp8|fp8_|\bfp4|_fp4|fp4_|nvfp4|mxfp|\bint[48]\b|\bawq|gptq|marlin|machete|modelopt|"
            r"compressed.?tensors|bitsandbytes|\bbnb|weight_scale|scale_inv|input_scale|_scales?\b|\bscales\b|qweight|"
            r"qzeros|bitmask|_amax|absmax|group.?size|zero_?points?\b|\bg_idx|\bwna\d+|block_[nk]\b|e4m3|e5m2|e8m0|float8_|\bw\d+a\d+|ggml.type|"
            r"tensor type \d|\bi?q\d_[k\d]|"
            r"^\d+ is not divisible by \d|weights? of size torch\.size\(\[\d+, 1\]\)|"
            r"(?:heads?|hidden|intermediate|partition|experts?|ep_size|tp_size|tensor parallel|weight|dim|size_[nk]|"
            r"features)\b.{0,80}(?:divisible|multiple of)|divisible by .{0,20}block|"
            r"block.?sizes?.{0,40}divisible|vocab.{0,40}divisible|page size of the layer"
        ),
        Category.QUANTIZATION,
    ),
    (
        (
            r"nccl|rccl|\bgloo\b|\bmpi\b|mpi_|all.?reduce|all.?gather|all.?to.?all|all2all|reduce.?scatter|symm_?mem|"
            r"rendezvous|process.?group|store.?based|deepep|deep_ep|nvshmem|\bucx|\bucp|nixl|mooncake|tcpstore|c10d|"
            r"infiniband|\bqps?\b|queue.?pair|\bib device|"
            r"ibv_|rdma|nvlink|nvls|multicast|peer.?(?:access|mapping|memory|to.?peer)|\bp2p\b|"
            r"ipc ?(?:mem|handle)|fulfill resource|placement group|available node types|"
            r"cudaipc|connection (?:refused|reset|closed)|world.?size|collective|(?:dispatch|combine).{0,20}timeout|"
            r"invalid (?:device ordinal|resource handle)|kv.?transfer|transfer failed|transfer.?engine|"
            r"bootstrap.?room|socket|"
            r"tcp_transport|rdma_transport|disaggregat"
        ),
        Category.COMMUNICATION,
    ),
    (
        (
            r"alignedallocator|workspace.{0,60}(?:too small|overflow|exceed|not enough|insufficient|larger)|"
            r"can ?not alloc\w* (?!memory).{0,40}(?:cache|slot|block|page)|"
            r"max_model_len|max_num_(?:batched_tokens|seqs|tokens)|cache blocks|context.?(?:length|"
            r"size|window)|"
            r"kv.?cache.{0,80}(?:larger|enough|insufficient|too small|exceed|full|free|available|needed|memory|size)|"
            r"(?:larger|enough|insufficient|too small|exceed|free|available|fit|allocat|memory|"
            r"tokens).{0,80}kv.?cache|"
            r"no space left for|too long|max_seq_len|max_input_len|memory pool|swap space|"
            r"failed to decode|max_total|too many tokens|"
            r"(?:input|prompt|sequence|request).{0,40}exceed|exceeds? .{0,60}(?:length|tokens|context|blocks|cache)"
        ),
        Category.CAPACITY_TOO_SMALL,
    ),
    (
        (
            r"cuda error|invalid configuration ?:|triton error \[cuda|cudaerror|cuda_error|cuda runtime|"
            r"illegal memory|device-side|"
            r"misaligned|cublas|"
            r"cudnn|cutlass|"
            r"shared memory|\bgemm\b|launch fail|kernel (?:launch|failed|error)|tensor ?map|tma desc|"
            r"segmentation fault|sanity check|inconsisten|invariant|incorrect \w+ (?:list|order|state)|"
            r"sigsegv|capturing|graph capture|capture (?:cuda|hip) ?graph|accessed from triton|\.cuh?:\d+"
        ),
        Category.KERNEL_FAULT,
    ),
)
# What may be named in passing: asked after the frames.
_PASSING = (
    (
        (
            r"must have shape|must be contiguous|same (?:device|dtype)|mat1 and mat2|size of tensor [ab] |"
            r"expanded size of the tensor|cannot be multiplied|shape mismatch|scalar type|could not broadcast|"
            r"invalid for input of size|cannot reshape"
        ),
        Category.KERNEL_FAULT,
    ),
    (
        (
            r"checkpoint|safetensors|tokenizer|config\.json|model.?type|architecture|weights?\b|state_dict|"
            r"chat.?template|hf_config|pretrained|gguf|tensor '|layers\.\d+|blk\.\d+|repo(?:sitory)?\b|"
            r"hugging|\bhf api\b|rope|configuration class|"
            r"size mismatch|number of tensors|vocab|no such file|a file named|mmproj|projector|processor|"
            r"(?:weight|param\w*|tensor|checkpoint)\b.{0,60}shape|shape\b.{0,60}(?:weight|param|checkpoint)"
        ),
        Category.MODEL_FILES,
    ),
    (r"^assert .{0,120}\.(?:shape|size|dim|ndim|stride|dtype|is_contiguous)\b", Category.KERNEL_FAULT),
    (
        (
            r"--[a-z]|unrecognized|must be|must not|should be|divisible|(?:not|only) supported|does not support|"
            r"not compatible|incompatible|cannot (?:be|use)|requires? |need to|please|"
            r"invalid (?:value|option|choice|argument)|unknown (?:option|argument|backend)|expected .{0,40} got"
        ),
        Category.BAD_ARGUMENTS,
    ),
    (r"error loading model", Category.MODEL_FILES),
    (r"timed? ?out|timeout|deadlock|\bhang|\bhung|heartbeat|no response|stuck", Category.HANG),
)
# What a bare ``assert`` compares, where nothing is said in words.
_ASSERTED = (
    (
        (
            r"num_spec|spec_(?:tokens|steps|len|info)|hidden_states?\b.{0,40}embeds?\b|"
            r"embeds?\b.{0,40}hidden_states?\b"
        ),
        Category.SPECULATION,
    ),
    (r"\bis_\w{0,40}supported\b", Category.ARCH_MISMATCH),
    (r"% (?!chunk|page|seq|stride|interval)\w[\w.]* == 0", Category.QUANTIZATION),
    (r"server_args|parallel_config|isinstance\(|_backend\b|_mode\b|_type\b|\bnot \w*args", Category.BAD_ARGUMENTS),
    (
        (
            r"(?:cache_lines|num_(?:free_|gpu_)?(?:blocks|pages|slots)|max_(?:num_)?(?:reqs|seqs|tokens)|available|"
            r"capacity|free_\w+)\b.{0,40}[<>]=?|[<>]=? .{0,40}(?:cache_lines|blocks|pages|slots|capacity)\b"
        ),
        Category.CAPACITY_TOO_SMALL,
    ),
)
# What kind of program speaks, where nothing else says more: asked last.
_SHAPES = (
    (r"^usage: |^\S+: error: |\[--[a-z]", Category.BAD_ARGUMENTS),
    (
        r"_assert\(|assertion .{0,200}failed|check failed|terminate called|unreachable|internal error|pure virtual",
        Category.KERNEL_FAULT,
    ),
)


def compiled(table: tuple[tuple[str, Category], ...]) -> tuple[tuple[re.Pattern[str], Category], ...]:
    """Compile a table of words; upper and lower case are the same."""
    return tuple((re.compile(pattern, re.IGNORECASE), category) for pattern, category in table)


TELLING = compiled(_TELLING)
PASSING = compiled(_PASSING)
SHAPES = compiled(_SHAPES)
ASSERTED = compiled(_ASSERTED)
