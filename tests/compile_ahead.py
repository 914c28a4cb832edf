"""Compile once what several test processes would each compile: `make compiled`."""

from __future__ import annotations

import hushprice
from hushprice.research.planner.plan import plan
from hushprice.service.learning.precompile_learner import precompile_learner
from hushprice.service.quoting.precompile import precompile

if __name__ == "__main__":
    for policy in ("paper", "noisy-newton", "nonprivate", "fixed", "random", "clairvoyant", "input-perturbation"):
        hushprice.simulate(policy, horizon=100, trials=1)
    precompile()
    precompile_learner()
    plan(customers=1000, features=1, epsilon=1.0)
