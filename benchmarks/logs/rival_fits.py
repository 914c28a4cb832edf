"""Maximum likelihood and the rivals on encoded logs, in an environment of their own (benchmarks/logs/requirements.txt).

    python benchmarks/logs/rival_fits.py FOLDER NAME...

Reads FOLDER/NAME.npz (features, outcome, the shop's own guess, and mu of every epsilon), writes FOLDER/NAME.json.
Every rival's settings are chosen in hindsight on the log itself, at no cost: that favours them. Features are phi =
[1; x; -z; -z x], the product's model, and coefficients are raw: theta plus the shop's guess.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

SEEDS = 20
TUNED_ON = 4
PASSES, RATES, BOUNDS = (10, 30, 100), (0.5, 2.0, 8.0), (0.5, 1.0, 2.0)
NORMS, PENALTIES = (1.0, 0.6), (0.001, 0.01, 0.1, 1.0)


def maximum_likelihood(features: Any, bought: Any) -> Any:
    """By Newton's method."""
    theta = np.zeros(features.shape[1])
    for _ in range(60):
        chance = expit(features @ theta)
        curvature = (features * (chance * (1.0 - chance))[:, None]).T @ features
        step = np.linalg.solve(curvature, features.T @ (bought - chance))
        theta = theta + step * min(1.0, 3.0 / np.linalg.norm(step))
        if np.abs(step).max() < 1e-10:
            break
    return theta


def noisy_descent(
    features: Any, bought: Any, starts: Any, mu: float, passes: int, rate: Any, bound: Any, rng: Any
) -> Any:
    """Gradient descent on the whole log, gradients clipped, Gaussian noise, the second half of the steps averaged.

    Columns of `starts` are runs, each with its rate and its bound. Replace-one: a record moves a sum by 2 bounds.
    """
    theta, mean = starts.copy(), np.zeros_like(starts)
    lengths = np.sqrt((features * features).sum(axis=1))
    noise = 2.0 * bound * math.sqrt(passes) / mu
    for number in range(passes):
        residual = expit(features @ theta) - bought[:, None]
        residual *= np.minimum(1.0, bound / np.maximum(np.abs(residual) * lengths[:, None], 1e-12))
        gradient = features.T @ residual + noise * rng.standard_normal(theta.shape)
        theta = theta - rate * gradient / len(bought)
        if 2 * number >= passes:
            mean += theta / (passes - (passes + 1) // 2)
    return mean


def best_descent(features: Any, bought: Any, guess: Any, mu: float, loss: Any) -> tuple[dict[str, Any], Any]:
    """The best setting on a few seeds, run again on others."""
    settings = [(rate, bound, start) for rate in RATES for bound in BOUNDS for start in (0.0, 1.0)]
    best: tuple[float, dict[str, Any]] = (-math.inf, {})
    for passes in PASSES:
        runs = [setting for setting in settings for _ in range(TUNED_ON)]
        rate, bound, start = (np.array(column) for column in zip(*runs, strict=True))
        found = noisy_descent(
            features, bought, guess[:, None] * start, mu, passes, rate, bound, np.random.default_rng(1)
        )
        losses = np.array([loss(each) for each in found.T]).reshape(len(settings), TUNED_ON).mean(axis=1)
        at = int(np.argmax(np.nan_to_num(losses, nan=-math.inf)))
        if losses[at] > best[0]:
            best = (float(losses[at]), dict(zip(("rate", "bound", "start"), settings[at], strict=True), passes=passes))
    chosen = best[1]
    starts = np.repeat(guess[:, None] * chosen["start"], SEEDS, axis=1)
    made = noisy_descent(
        features, bought, starts, mu, chosen["passes"], chosen["rate"], chosen["bound"], np.random.default_rng(2)
    )
    return chosen, made.T


def diffprivlib_fit(features: Any, bought: Any, epsilon: float, norm: float, penalty: float, seed: int) -> Any:
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(
        epsilon=epsilon, data_norm=norm, C=penalty, max_iter=1000, tol=1e-7, random_state=seed
    ).fit(features[:, 1:], bought)
    return np.concatenate([model.intercept_, model.coef_[0]])


def best_diffprivlib(features: Any, bought: Any, epsilon: float, loss: Any) -> tuple[dict[str, Any], Any]:
    """The same: bound on the length of a row's features and penalty chosen in hindsight."""
    largest = math.sqrt(features.shape[1] - 1)
    best: tuple[float, dict[str, Any]] = (-math.inf, {})
    for share in NORMS:
        for penalty in PENALTIES:
            runs = [diffprivlib_fit(features, bought, epsilon, share * largest, penalty, s) for s in range(TUNED_ON)]
            mean = float(np.mean([loss(each) for each in runs]))
            if mean > best[0]:
                best = (mean, {"norm": share * largest, "penalty": penalty})
    chosen = best[1]
    seeds = range(100, 100 + SEEDS)
    return chosen, [diffprivlib_fit(features, bought, epsilon, chosen["norm"], chosen["penalty"], s) for s in seeds]


def main(folder: Path, names: list[str]) -> None:
    warnings.filterwarnings("ignore")
    for name in names:
        data = np.load(folder / f"{name}.npz")
        features, bought, guess = data["features"], data["bought"], data["guess"]

        def loss(theta: Any, features: Any = features, bought: Any = bought) -> float:
            odds = features @ theta
            return float(np.mean(bought * odds - np.logaddexp(0.0, odds)))

        part = folder / f"{name}.json.part"  # a run that was stopped goes on where it was
        answers: dict[str, Any] = {"maximum likelihood": maximum_likelihood(features, bought).tolist(), "rivals": []}
        if part.exists():
            answers = json.loads(part.read_text())
        done = {each["epsilon"] for each in answers["rivals"]}
        for epsilon, mu in zip(data["epsilons"], data["mus"], strict=True):
            if epsilon in done:
                continue
            found = {
                "diffprivlib": best_diffprivlib(features, bought, float(epsilon), loss),
                "noisy descent": best_descent(features, bought, guess, float(mu), loss),
            }
            for rival, (chosen, runs) in found.items():
                runs = [np.asarray(each).tolist() for each in runs]
                answers["rivals"].append({"epsilon": epsilon, "rival": rival, "chosen": chosen, "runs": runs})
            part.write_text(json.dumps(answers))
            print(name, epsilon, {rival: chosen for rival, (chosen, _) in found.items()}, flush=True)
        part.rename(folder / f"{name}.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
