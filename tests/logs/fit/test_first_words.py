"""What the shop's word may mean: two beliefs before a log is read, and the mean over both."""

from __future__ import annotations

import numpy as np
import pytest
from tests.logs.fit.fit_logs import PRODUCT

from hushprice.logs.fit import first_words
from hushprice.logs.fit.description import Moments
from hushprice.logs.fit.first_words import Word, averaged, words_of
from hushprice.logs.fit.likeness import likeness_of
from hushprice.logs.fit.passes_of_fit import first_deviations
from hushprice.policies.cautious.pricing.shop_model import model_of


def test_one_word_at_one_scale_gives_the_normal_belief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the textbook: a prior N(centre, turn D^2 turn') and a normal likelihood, in theta's own terms."""
    monkeypatch.setattr(first_words, "_SCALES", (1.0,))
    monkeypatch.setattr(first_words, "_WORD", (1.0,))
    random = np.random.default_rng(0)
    root, pull, deviations = random.normal(size=(6, 4)), random.normal(size=6), random.uniform(0.5, 2.0, 6)
    curvature = root @ root.T
    word = Word(random.normal(size=6), np.eye(6) + 0.3 * random.normal(size=(6, 6)))
    prior = np.linalg.inv(word.turn @ np.diag(deviations**2) @ word.turn.T)
    expected = np.linalg.inv(curvature + prior)
    mean, covariance = averaged((word,), deviations, curvature, pull)
    np.testing.assert_allclose(covariance, expected, atol=1e-10)
    np.testing.assert_allclose(mean, expected @ (pull + prior @ word.centre), atol=1e-10)


def test_words_are_weighed_by_how_likely_they_make_the_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words that differ in their centre alone: their odds are those of two normal densities."""
    monkeypatch.setattr(first_words, "_SCALES", (1.0,))
    monkeypatch.setattr(first_words, "_WORD", (1.0,))
    seen, error = np.array([0.8, -0.3]), 0.5  # an estimate of theta and its variance
    centres = (np.zeros(2), np.array([1.0, 0.0]))
    densities = [np.exp(-0.5 * np.sum((seen - each) ** 2) / (1.0 + error)) for each in centres]
    share = densities[1] / sum(densities)
    pulled = [(seen / error + each) / (1.0 / error + 1.0) for each in centres]
    words = tuple(Word(each, np.eye(2)) for each in centres)
    mean, _ = averaged(words, np.ones(2), np.eye(2) / error, seen / error)
    np.testing.assert_allclose(mean, (1.0 - share) * pulled[0] + share * pulled[1], atol=1e-10)


def test_where_prices_went_with_nothing_both_words_are_the_same() -> None:
    likeness = likeness_of(Moments(1000.0, np.zeros(3), np.diag([0.3, 0.2, 0.1])))
    plain, shown = words_of(model_of(PRODUCT), likeness)
    np.testing.assert_allclose(shown.centre, plain.centre, atol=1e-12)
    np.testing.assert_allclose(shown.turn, plain.turn, atol=1e-12)


def test_a_response_is_not_held_back_by_an_attribute_that_prices_went_with() -> None:
    """A rival's price, say: it moves with the shop's own, and matters as much. Releases say so, without noise."""
    model, deviations = model_of(PRODUCT), first_deviations(PRODUCT)
    likeness = likeness_of(Moments(1000.0, np.zeros(3), np.array([[0.3, 0.0, 0.2], [0.0, 0.3, 0.0], [0.2, 0.0, 0.2]])))
    truth = np.array([0.0, 2.5, 0.0, 3.0, 0.0, 0.0])
    for rows in (100.0, 300.0, 1000.0, 3000.0):
        curvature = rows * 0.2 * (likeness.features.T @ likeness.features) / len(likeness.prices)
        words = words_of(model, likeness)
        plain, both = (averaged(each, deviations, curvature, curvature @ truth)[0] for each in (words[:1], words))
        assert abs(both[3] - truth[3]) < 0.7 * abs(plain[3] - truth[3])
