"""Open loop at 500 requests/s for 60 s: how late requests go out, and whether the gaps follow the law asked for.

The schedule's gaps and the gaps of the actual sends are held against the exponential law by a Kolmogorov-Smirnov test.

    PYTHONPATH=src python benchmarks/load/open_loop.py [SECONDS]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import stats
from truth import truth_server

from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.load.generator import run_point
from shakedown.load.prompts import prompt_source
from shakedown.load.tokenizers import EstimatingTokenizer

RATE = 500.0


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    workload = Workload(name="open", input_tokens=100, output_tokens=16, duration_s=seconds, seed=1)
    plan = PointPlan(workload=workload, level=LoadLevel(request_rate=RATE), requests=1, warmup_requests=64)
    prompts = prompt_source(workload, EstimatingTokenizer(), salt="open")
    with truth_server(ttft_ms=50, itl_ms=10, tokens=16) as url:
        result = run_point(Target(base_url=url, model="truth"), plan, prompts)
    records = result.records
    law = stats.expon(scale=1 / RATE).cdf
    scheduled = np.diff([record.scheduled_ns for record in records]) / 1e9
    sent = np.diff(sorted(record.sent_ns for record in records)) / 1e9
    late = result.summary.client.send_lateness_s
    assert late is not None
    print(f"{len(records)} requests in {result.summary.duration_s:.1f} s, {result.summary.ok} ok")
    print(f"send lateness ms: mean {late.mean * 1e3:.3f}, p99 {late.p99 * 1e3:.3f}, max {late.max * 1e3:.3f}")
    print(f"gaps of the schedule: KS p = {stats.kstest(scheduled, law).pvalue:.3f}")
    print(f"gaps of the sends:    KS p = {stats.kstest(sent, law).pvalue:.3f}")


if __name__ == "__main__":
    main()
