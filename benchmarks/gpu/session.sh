#!/usr/bin/env bash
# Runs on the GPU machine: campaigns one after another until the time is up; what was measured comes home and is resumed.
#
#   benchmarks/gpu/session.sh SECONDS CAMPAIGN.toml...
#
# SITE         folder with the wheels of Shakedown's own needs that the machine lacks, unpacked
# MODELS       folder with the models the campaign files name
# RESULTS      where the results folders lie; an earlier run's are resumed
# OUT          where packed results are put to be carried home
set -uo pipefail
cd "$(dirname "$0")/../.."
end=$(($(date +%s) + $1)); shift
export PYTHONPATH="${SITE:+$SITE:}$PWD/src"
export XDG_CACHE_HOME="${RESULTS:?}/cache" PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
mkdir -p "$RESULTS" "${OUT:?}"
ln -sfn "${MODELS:?}" examples/gpu/models

python3 -m shakedown inspect --json > "$RESULTS/machine.json" || exit
for file in "$@"; do
  left=$((end - $(date +%s)))
  [ "$left" -gt 20 ] || { echo "$file: no time left"; continue; }
  name=$(basename "$file" .toml)
  echo "== $name, $left s left"
  timeout --signal=INT --kill-after=20 "$left" python3 -m shakedown run "$file" --out "$RESULTS/$name" --json > "$RESULTS/$name.json"
  echo "== $name: exit $?"
  tar -C "$RESULTS" -cJf "$OUT/$name.tar.xz" "$name"
done
cp "$RESULTS/machine.json" "$OUT/"
nvidia-smi --query-gpu=memory.used,power.draw,clocks.sm --format=csv
