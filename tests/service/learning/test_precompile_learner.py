"""What is compiled at the start, or when an image is built, is all that quotes and releases need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hushprice.numerics import jit

_PROGRAM = """
import gc
import msgspec
import numpy as np
from numba.core.dispatcher import Dispatcher
from hushprice.service.learning.precompile_learner import precompile_learner
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.quoting.precompile import precompile
from hushprice.service.shared.product import Product, quoter_of
from hushprice.service.store.values import SeenRelease, Slot

def compiled():
    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {f"{each.py_func.__module__}.{each.py_func.__name__}": len(each.signatures) for each in found}

def serve(**more):
    product = Product(name="tea", currency="EUR", ceiling=10.0, epsilon=20.0, horizon=20_000, **more)
    spec, random = msgspec.json.encode(product), np.random.default_rng(1)
    contexts = random.uniform(-1.0, 1.0, (product.horizon, product.contexts))
    learner = ProductLearner(spec)
    while learner.next_release:
        due = range(learner.learned + 1, learner.next_release + 1)
        learner.learn([Slot(n, contexts[n - 1].tobytes(), 0.3 + 0.4 * (n % 2), float(n % 2), True) for n in due], 0.0)
    again = ProductLearner(spec)
    again.restore(learner.state())
    again.jump(SeenRelease("tea", learner.sequence + 3, learner.learned + 10))
    quoter = quoter_of(product)
    quoter.ready = True
    quoter.price_of_checked(np.frombuffer(bytearray(contexts[0].tobytes())), 0.3)

precompile()
precompile_learner()
before = compiled()
serve(contexts=2)
serve(contexts=3, family="poisson", features="interactions")
serve(contexts=1, features="main", unit_cost=2.0)
print({name: count for name, count in compiled().items() if count != before.get(name)})
"""


@pytest.mark.skipif(not jit.COMPILED, reason="nothing is compiled")
def test_nothing_is_left_to_compile_for_any_kind_of_product() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr
