from hushprice.optimizer.price import LANES, WORK, best_prices  # noqa: F401
