"""Several policies on the same customers and the same luck: a short table, and a picture in a folder of your choice.

Run: python examples/compare_policies.py FOLDER
"""

import sys
from pathlib import Path

from hushprice.simulation.compare import compare_policies, write_comparison

POLICIES = ["paper@published", "nonprivate", "random"]  # the best fixed price is always added


def main(folder: Path) -> None:
    """Compare, print, and write the picture."""
    results = compare_policies(POLICIES, horizon=20_000, dimension=2, epsilon=2.0, trials=8, seed=1)
    print("revenue lost per customer against someone who knows demand exactly (x 1e4), lower is better")
    for result in sorted(results, key=lambda each: each.regret.mean()):
        privacy = "NOT PRIVATE" if result.claimed is None else f"claims epsilon {result.claimed.epsilon:g}"
        error = result.average_regret.standard_error or 0.0
        name = "best fixed price" if result.hindsight else result.label
        print(f"  {name:20} {1e4 * result.regret.mean():7.1f} ± {1e4 * error:4.1f}   {privacy}")
    for file in write_comparison(results, folder):
        print(f"wrote {file}")

    # Every trial is a row, for analyses of your own.
    print(results[0].frame().select("policy", "trial", "average_regret", "estimates").head(3))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/compare_policies.py FOLDER")
    main(Path(sys.argv[1]))
