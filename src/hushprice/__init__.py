"""Personal prices that learn demand, while a privacy budget bounds what later prices reveal about a customer.

Names are loaded when first used, so that `import hushprice` and `hushprice --help` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushprice.live.pricer import Pricer, Quote, open_pricer
    from hushprice.logs.fit.fit_result import Fit
    from hushprice.logs.fit.run_fit import fit
    from hushprice.logs.questions import check_fit, evaluate
    from hushprice.product import Product
    from hushprice.product_file import load_product
    from hushprice.research.shop_planner.plan import ShopPlan, plan_shop
    from hushprice.shops.world_file import load_world
    from hushprice.simulation.market import Market, paper_market
    from hushprice.simulation.market_file import load_market
    from hushprice.simulation.result import SimulationResult
    from hushprice.simulation.run import simulate

__version__ = "0.1.0"

_HOMES = {
    "Pricer": "hushprice.live.pricer",
    "Quote": "hushprice.live.pricer",
    "open_pricer": "hushprice.live.pricer",
    "check_fit": "hushprice.logs.questions",
    "evaluate": "hushprice.logs.questions",
    "Fit": "hushprice.logs.fit.fit_result",
    "fit": "hushprice.logs.fit.run_fit",
    "Product": "hushprice.product",
    "load_product": "hushprice.product_file",
    "ShopPlan": "hushprice.research.shop_planner.plan",
    "plan_shop": "hushprice.research.shop_planner.plan",
    "load_world": "hushprice.shops.world_file",
    "Market": "hushprice.simulation.market",
    "paper_market": "hushprice.simulation.market",
    "load_market": "hushprice.simulation.market_file",
    "SimulationResult": "hushprice.simulation.result",
    "simulate": "hushprice.simulation.run",
}

__all__ = [
    "Fit",
    "Market",
    "Pricer",
    "Product",
    "Quote",
    "ShopPlan",
    "SimulationResult",
    "__version__",
    "check_fit",
    "evaluate",
    "fit",
    "load_market",
    "load_product",
    "load_world",
    "open_pricer",
    "paper_market",
    "plan_shop",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hushprice' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
