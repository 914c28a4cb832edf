"""The two questions that a log is asked, as a person asks them: what would prices have earned, and does a fit fit?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.evaluation import Evaluation, evaluate_log
from hushprice.logs.fit.fit_result import Fit
from hushprice.logs.log_reader import Progress, silent
from hushprice.logs.model_check import ModelCheck, check_model, release_check
from hushprice.logs.price_policy import PricePolicy, common_price, fitted_prices
from hushprice.logs.read import open_log
from hushprice.logs.release_values import ReleasedValues, release_values
from hushprice.prior import Prior, read_prior
from hushprice.product import Product
from hushprice.product_file import load_product

TODAY = "today"
PROPENSITIES = ("auto", "probability", "density", "estimate")


def evaluate(
    log: object,
    *,
    product: Product | str | Path,
    policy: Fit | Prior | Product | str | Path | float = TODAY,
    epsilon: float | None = None,
    delta: float = 1e-6,
    propensity: str = "auto",
    prices: Sequence[float] = (),
    randomized: bool = False,
    most_weight: float = 20.0,
    rows_per_customer: int = 1,
    bandwidth: float | None = None,
    level: float = 0.95,
    on_bad: str = "refuse",
    progress: Progress = silent,
) -> Evaluation | ReleasedValues:
    """What a policy's prices would have earned a visit, by a log of other prices.

    `policy` is a fit (a `Fit`, a `Prior`, or a fit.json), a product (a .toml: its fit's prices, or today's), "today",
    or one price for everybody. Without an epsilon the answer is exact and for the operator alone; with one it is a
    charged release. `prices`, `randomized`, `most_weight` and `rows_per_customer` are a release's, since nothing of the
    log may be looked at to find them (logs/release_values.py).

    >>> import polars
    >>> product = Product(floor=20, ceiling=30, reference_price=25, conversion=0.5)
    >>> visits = polars.DataFrame({"price": [22.0, 25.0] * 200, "bought": [True, True, True, False] * 100})
    >>> answer = evaluate(visits, product=product, policy=22.0)
    >>> round(answer.inverse_propensity.value, 6), answer.propensities.partition(":")[0]
    (22.0, 'estimated')
    """
    checks.one_of(PROPENSITIES, propensity=propensity)
    opened = open_log(log, product=product, on_bad=on_bad)
    asked = policy_of(policy, opened.product)
    if epsilon is None:
        _check_exact(prices=bool(prices), randomized=randomized)
        kept: Any = propensity
        return evaluate_log(
            opened, opened.product, asked, propensity=kept, bandwidth=bandwidth, level=level, progress=progress
        )
    if propensity == "estimate":
        raise InvalidInput("propensity must not be 'estimate' in a release: say randomized, or keep it in the log")
    kind: Any = None if propensity == "auto" else propensity
    return release_values(
        opened,
        opened.product,
        asked,
        epsilon=epsilon,
        delta=delta,
        prices=prices,
        randomized=randomized,
        propensity=kind,
        most_weight=most_weight,
        rows_per_customer=rows_per_customer,
        bandwidth=bandwidth,
        level=level,
    )


def check_fit(
    log: object,
    fit: Fit | Prior | str | Path,
    *,
    product: Product | str | Path,
    epsilon: float | None = None,
    delta: float = 1e-6,
    rows_per_customer: int = 1,
    on_bad: str = "refuse",
    progress: Progress = silent,
) -> ModelCheck:
    """Does a fit describe a log? Exact and for the operator alone, or with an epsilon a charged release."""
    opened = open_log(log, product=product, on_bad=on_bad)
    asked = fitted_prices(opened.product, _prior(fit))
    if epsilon is None:
        return check_model(opened, opened.product, asked, progress=progress)
    return release_check(
        opened, opened.product, asked, epsilon=epsilon, delta=delta, rows_per_customer=rows_per_customer
    )


def policy_of(given: Fit | Prior | Product | str | Path | float, product: Product) -> PricePolicy:
    """The policy that was meant."""
    if isinstance(given, (Fit, Prior)):
        return fitted_prices(product, _prior(given))
    if isinstance(given, Product):
        return _of_product(given, product)
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return common_price(product, float(given))
    text = str(given)
    if text == TODAY:
        return common_price(product)
    if text.endswith(".toml"):
        return _of_product(load_product(text), product)
    if text.endswith(".json"):
        return fitted_prices(product, read_prior(text), f"fit {text}")
    try:
        price = float(text)
    except ValueError:
        choices = "a fit.json, a product.toml, a price or 'today'"
        raise InvalidInput(f"policy must be {choices}, got {checks.shown(given)}") from None
    return common_price(product, price)


def _prior(fit: Fit | Prior | str | Path) -> Prior:
    if isinstance(fit, Prior):
        return fit
    return fit.prior() if isinstance(fit, Fit) else read_prior(fit)


def _of_product(asked: Product, product: Product) -> PricePolicy:
    if asked.prior is not None:
        return fitted_prices(product, asked.prior, "the product's fit")
    return common_price(product, asked.reference_price)


def _check_exact(**given: bool) -> None:
    for name, value in given.items():
        if value:
            raise InvalidInput(f"{name} is for a release: give epsilon as well")
