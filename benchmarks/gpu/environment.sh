# Sourced on the GPU machine: `. benchmarks/gpu/environment.sh FOLDER`, FOLDER holding what came and the caches.
# It fills the gaps of a slim CUDA image, keeps compiled kernels together, and switches NVLink multicast off, which can
# take a shared host's GPUs out of service.
folder=$1
mkdir -p "$folder/lib" "$folder/cache"
export PATH=/usr/local/cuda/bin:$PATH
export CUDA_HOME=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")}
wheels=$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)/cu13
[ -e "$CUDA_HOME/lib64/libcudart.so" ] || ln -sf "$wheels/lib/libcudart.so.13" "$folder/lib/libcudart.so"
for driver in /usr/local/nvidia/lib64/libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1; do
  [ -e "$driver" ] && ln -sf "$driver" "$folder/lib/libcuda.so" && break
done
export LIBRARY_PATH="$folder/lib:${LIBRARY_PATH:-}"
[ -d "$wheels/include" ] && export NVCC_APPEND_FLAGS="-isystem $wheels/include"
export TRANSFORMERS_OFFLINE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 TOKENIZERS_PARALLELISM=false
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
export VLLM_ALLREDUCE_USE_SYMM_MEM=0 VLLM_USE_NCCL_SYMM_MEM=0
export TVM_FFI_CACHE_DIR="$folder/cache/tvm-ffi" FLASHINFER_WORKSPACE_BASE="$folder/cache" FLASHINFER_USE_CUDA_NORM=1
export FLASHINFER_CUDA_ARCH_LIST=9.0a TRITON_CACHE_DIR="$folder/cache/triton" VLLM_CACHE_ROOT="$folder/cache/vllm"
export TORCHINDUCTOR_CACHE_DIR="$folder/cache/inductor" MAX_JOBS=16

# Engines that came as folders of packages get an interpreter of their own: `engine_python NAME PACKAGES[:PACKAGES]`.
engine_python() {
  mkdir -p "$folder/bin"
  printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$2" "$(command -v python3)" > "$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}
export PATH="$folder/bin:$PATH"
