#!/usr/bin/env bash
# Runs on the GPU machine: launches that cannot work, for their logs as they come; then `shakedown diagnose` of each.
#
#   benchmarks/gpu/failures.sh sglang|vllm MODEL FOLDER        (several at a time: a failing launch measures nothing)
#
# SITE and OUT as in session.sh. A launch that does start is ended after 150 s.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
engine=$1 model=$2 folder=$3
mkdir -p "$folder"

launch() { # NAME ARGS...
  local name=$1; shift
  if [ "$engine" = sglang ]; then
    set -- sglang-python -m sglang.launch_server --model-path "$model" --host 127.0.0.1 --port "$port" "$@"
  else
    set -- vllm-python -m vllm.entrypoints.cli.main serve "$model" --host 127.0.0.1 --port "$port" "$@"
  fi
  echo "$*" > "$folder/$engine-$name.cmd"
  timeout -k 10 150 "$@" > "$folder/$engine-$name.log" 2>&1
  echo "$name: exit $?"
}

case $engine in
sglang) launches='memory-fraction-too-small|--mem-fraction-static 0.001
context-too-long|--context-length 4000000
not-quantized-so|--quantization awq
one-gpu-visible|--tp 2 --enforce-disable-flashinfer-allreduce-fusion
drafts-without-steps|--speculative-algorithm NEXTN --speculative-eagle-topk 1 --speculative-num-draft-tokens 2
fp4-kv|--kv-cache-dtype fp4_e2m1
flashmla|--attention-backend flashmla
unknown-flag|--enable-warp-drive' ;;
vllm) launches='memory-share-too-small|--gpu-memory-utilization 0.002
context-too-long|--max-model-len 4000000
not-quantized-so|--quantization awq
one-gpu-visible|--tensor-parallel-size 2
mtp-not-in-model|--speculative-config {"method":"mtp","num_speculative_tokens":2}
cutlass-mla|--attention-backend CUTLASS_MLA
fp8-e5m2|--kv-cache-dtype fp8_e5m2
unknown-flag|--enable-warp-drive' ;;
esac

port=31000
[ "$engine" = vllm ] && port=32000
while IFS='|' read -r name args; do
  port=$((port + 20))
  # shellcheck disable=SC2086 # the arguments are words
  launch "$name" $args &
  while [ "$(jobs -rp | wc -l)" -ge "${AT_ONCE:-4}" ]; do sleep 0.5; done
done <<< "$launches"
wait

export PYTHONPATH="${SITE:+$SITE:}$PWD/src"
for log in "$folder/$engine"-*.log; do
  echo "== $(basename "$log")"
  python3 -m shakedown diagnose "$log" --json > "${log%.log}.json"
  python3 -m shakedown diagnose "$log" | head -12
done
