"""Each rival in its own paper's setting: one number or shape, beside what its authors report.

    python benchmarks/rivals/reproduce.py              # all; an hour of one core
    python benchmarks/rivals/reproduce.py mle-cycle    # one

Results go to benchmarks/rivals/reproduced.json.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from reproductions import (
    attributes,
    counted_arms,
    delayed,
    local_reports,
    one_fit,
    one_price,
    optimists,
    public_features,
    released_matrices,
    shuffled,
)
from reproductions.settings import Found

RESULTS = Path(__file__).resolve().parent / "reproduced.json"

SECTIONS: dict[str, Callable[[], Found]] = {
    "shariff-sheffet": released_matrices.shariff_sheffet,
    "shuffle-glm": shuffled.shuffle_glm,
    "almost-free": released_matrices.almost_free,
    "offline-private": one_fit.offline_private,
    "ldp-glm": local_reports.ldp_glm,
    "glm-pricing": one_fit.glm_pricing,
    "glm-pricing-mixed": one_fit.glm_pricing_mixed,
    "mishra-ucb": counted_arms.mishra_ucb,
    "mishra-thompson": counted_arms.mishra_thompson,
    "ldp-mab": counted_arms.ldp_mab,
    "ldp-sgd": local_reports.ldp_sgd,
    "tang": public_features.tang,
    "private-bisection": one_price.private_bisection,
    "thompson": delayed.thompson,
    "ucb-glm": optimists.ucb_glm,
    "glm-ucb": optimists.glm_ucb,
    "wang-optimism": optimists.wang_optimism,
    "greedy-ils": one_price.greedy_ils,
    "mle-cycle": one_price.mle_cycle,
    "rmlp": attributes.rmlp,
    "ban-keskin": attributes.ban_keskin,
    "glm-pricing-open": one_fit.glm_pricing_open,
    "ellipsoid": attributes.ellipsoid,
}


def main() -> None:
    results: dict[str, Found] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or SECTIONS:
        results[name] = SECTIONS[name]()
        ordered = {each: results[each] for each in SECTIONS if each in results}
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")
        print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
