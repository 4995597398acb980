#!/bin/sh
# Proved by the Shakedown campaign demo of 2026-09-21, kept in /home/ada/shakedown-demo.
# Candidate 000000000009: speculation=ngram, 11 % faster than the reference (1.107 [1.085, 1.130]).
# Machine: {'model': 'AMD EPYC 9654', 'cores': 2}. Engine: llama.cpp b11549.
# Values to fill in are marked FILL_IN. Made by Shakedown 0.1.0.
set -eu
export LLAMA_LOG_COLORS=off
exec llama-server \
  --model /models/SmolLM2-135M-Instruct.Q4_1.gguf \
  --flash-attn off \
  --ctx-size 2048 \
  --parallel 4 \
  --threads 2 \
  --spec-type ngram-simple \
  --host 127.0.0.1 \
  --port 8000
