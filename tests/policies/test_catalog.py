"""Every policy by name, and what the catalog refuses."""

from __future__ import annotations

import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from tests.policies.expected import EXPECTED

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.policies import POLICIES, baselines
from hushprice.policies.catalog import NAMES, build, kernel_of, make_plain, plain, read_by, reads
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.rules import newton
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.policy import input_perturbation, nonprivate, paper
from hushprice.policies.paper.rules import PaperRules, numerical, tune
from hushprice.policies.protocol import Setting, part_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.settings import OPTIONS, TRUST, PolicySettings, Settings, doubt_of

HORIZON = 1000
BUDGET = split(0.6, 2e-6)
TUNING = numerical(HORIZON, 3)


def built(name: str, **changes: Any) -> Any:
    given: dict[str, Any] = {"horizon": HORIZON, "epsilon": 0.6, "delta": 2e-6}
    return build(PolicySettings(policy=name, **given | changes), Logistic(), main_effects(2))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_builds(name: str) -> None:
    assert built(name).name == name


def test_the_kernel_that_runs_a_policy_is_known_before_it_is_built() -> None:
    assert {name: kernel_of(name) for name in NAMES} == {name: built(name).kernel for name in NAMES}
    assert kernel_of("module:Class") is None


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_every_calibration_builds(calibration: str) -> None:
    assert built("paper", calibration=calibration).calibration == calibration


def test_tight_is_the_default_calibration() -> None:
    assert built("paper") == built("paper", calibration="tight")


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_calibration_is_refused_and_a_known_one_where_it_is_not_used(name: str) -> None:
    for calibration in ("bogus", "", "printed"):
        if name == "paper" and calibration in CALIBRATIONS:
            continue
        choices = CALIBRATIONS if name == "paper" else ("published", "tight")
        known = f"calibration must be one of {', '.join(choices)}, got {calibration!r}"
        elsewhere = f"calibration is for policies 'paper', .*, got {calibration!r} for policy"
        wrong = known if "calibration" in reads(name) else elsewhere
        with pytest.raises(InvalidInput, match=f"^{wrong}"):
            built(name, calibration=calibration)


def test_what_is_built_is_what_the_policys_own_function_makes() -> None:
    market: dict[str, Any] = {"horizon": HORIZON, "dimension": 3, "demand": Logistic(), "rules": TUNING}
    for calibration in CALIBRATIONS:
        assert built("paper", calibration=calibration) == paper(calibration, BUDGET, **market)
    zeroed = built("paper", adjacency="zero-out")
    assert zeroed == paper("tight", BUDGET, adjacency=Adjacency.ZERO_OUT, **market)
    assert built("nonprivate") == nonprivate(rules=TUNING)
    assert built("random") == baselines.random()
    assert built("fixed") == baselines.fixed()
    assert built("fixed", price=0.25) == baselines.fixed(0.25)
    assert built("clairvoyant") == baselines.clairvoyant()
    assert built("input-perturbation") == input_perturbation(0.6, contexts=2, rules=TUNING)
    rules = newton(BUDGET.total, demand=Logistic(), features=main_effects(2))
    assert built("noisy-newton") == noisy_newton(rules, demand=Logistic(), dimension=3)


def test_the_parts_of_noisy_newton_are_turned_off_by_name() -> None:
    market: dict[str, Any] = {"demand": Logistic(), "features": main_effects(2)}
    for option, given in (
        ({"reference_price": 0.7}, {"reference_price": 0.7}),
        ({"trigger": False}, {"trigger": False}),
        ({"bonus": False}, {"width": 0.0}),
        ({"noise": False}, {"drawn": False}),
        ({"unit_cost": 0.2}, {"unit_cost": 0.2}),
        ({"adjacency": "zero-out"}, {"adjacency": Adjacency.ZERO_OUT}),
    ):
        assert built("noisy-newton", **option).rules == newton(BUDGET.total, **market, **given)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "noisy-newton"])
@pytest.mark.parametrize(
    "option", [{"reference_price": 0.5}, {"trigger": False}, {"bonus": False}, {"noise": False}, {"unit_cost": 0.1}]
)
def test_the_parts_of_noisy_newton_are_refused_elsewhere(name: str, option: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"is for polic.* 'noisy-newton'.*, got .* for policy '{name}'"):
        built(name, **option)


def test_only_policies_with_a_guarantee_claim_one() -> None:
    policies = {name: built(name) for name in NAMES}
    for policy in policies.values():
        assert (policy.claimed is None) == (policy.proven is None)
    pairs = {"pair": EpsilonDelta(0.6, 2e-6), "pure": EpsilonDelta(0.6, 0.0), "zero": EpsilonDelta(0.0, 0.0)}
    assert {name: policy.claimed for name, policy in policies.items()} == {
        name: pairs.get(each.claims) for name, each in EXPECTED.items()
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != "fixed"])
def test_a_price_with_a_policy_that_is_not_fixed_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"price is for policy 'fixed', got 0.5 for policy '{name}'"):
        built(name, price=0.5)


@pytest.mark.parametrize("name", ["Paper", "", "best", None])
def test_an_unknown_name_is_refused_with_the_list(name: Any) -> None:
    listed = ", ".join(POLICIES)
    with pytest.raises(InvalidInput, match=f"policy must be one of {listed}, or module:Class, got {name!r}"):
        built(name)


def test_tuning_is_the_numerical_sections_with_entries_replaced() -> None:
    assert tune(horizon=HORIZON, dimension=3) == numerical(HORIZON, 3)
    changed = tune(horizon=HORIZON, dimension=3, exploration_periods=0, ridge=2.5, width=0.0, max_estimates=7)
    assert changed == PaperRules(exploration_periods=0, ridge=2.5, width=0.0, max_estimates=7)


@pytest.mark.parametrize(
    "change",
    [
        {"horizon": 0},
        {"dimension": 0},
        {"exploration_periods": 1.5},
        {"ridge": 0.0},
        {"width": float("nan")},
        {"max_estimates": True},
    ],
)
def test_bad_tuning_is_refused_by_name_and_value(change: dict[str, Any]) -> None:
    ((name, value),) = change.items()
    with pytest.raises(InvalidInput, match=f"^{name} must be .* got {value!r}$"):
        tune(**{"horizon": 10, "dimension": 2} | change)


MODULE = """
from hushprice.privacy.budget import EpsilonDelta

class Good:
    def __init__(self, setting): ...
    def price(self, context): return 0.5
    def learn(self, context, price, demand): ...

class Outer:
    Inner = Good

class NoLearn:
    def price(self, context): return 0.5

class NoPrice:
    price = 0.5
    def learn(self, context, price, demand): ...

class Claiming(Good):
    claimed = EpsilonDelta(1.0, 1e-6)

class ClaimingNothing(Good):
    claimed = None

class ClaimingANumber(Good):
    claimed = 1.0

class ClaimingAPair(Good):
    claimed = (1.0, 1e-6)

class ClaimingLater(Good):
    @property
    def claimed(self): return EpsilonDelta(1.0, 1e-6)

class TakesNothing(Good):
    def __init__(self): ...

class TakesMore(Good):
    def __init__(self, setting, more): ...

class Fails(Good):
    def __init__(self, setting): raise ZeroDivisionError("a bug of its own")

instance = Good(None)
def factory(setting): return Good(setting)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_policies.py").write_text(MODULE)
    (tmp_path / "broken_policies.py").write_text("1 / 0\n")
    (tmp_path / "unreadable_policies.py").write_text("class :\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("own_policies", "broken_policies", "unreadable_policies"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "own_policies"


def test_a_class_of_ones_own_is_found_by_module_and_name(module: str) -> None:
    assert plain(f"{module}:Good") is sys.modules[module].Good
    for name in ("Claiming", "ClaimingNothing"):
        assert plain(f"{module}:{name}") is getattr(sys.modules[module], name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_policies:Missing", "cannot be imported: module 'own_policies' has no attribute 'Missing'"),
        ("own_policies:", "cannot be imported: "),
        ("own_policies:Good:more", "cannot be imported: "),
        ("own_policies:Outer.Inner", "cannot be imported: "),
        ("no_such_module_anywhere:Good", "cannot be imported: No module named 'no_such_module_anywhere'"),
        (":Good", "cannot be imported: "),
        (".relative:Good", "cannot be imported: "),
        ("broken_policies:Good", "cannot be imported: division by zero"),
        ("unreadable_policies:Good", "cannot be imported: "),
        ("own_policies:NoLearn", "has no method 'learn'"),
        ("own_policies:NoPrice", "has no method 'price'"),
        ("own_policies:ClaimingANumber", "must have an EpsilonDelta or None as claimed, got 1.0"),
        ("own_policies:ClaimingAPair", r"must have an EpsilonDelta or None as claimed, got \(1.0, 1e-06\)"),
        ("own_policies:ClaimingLater", "must have an EpsilonDelta or None as claimed, got <property"),
        ("own_policies:instance", "must be a class, got <own_policies.Good object"),
        ("own_policies:factory", "must be a class, got <function factory"),
    ],
)
def test_anything_else_is_refused_in_one_line(name: str, message: str, module: str) -> None:
    with pytest.raises(InvalidInput, match=f"^policy '{name}' {message}") as refusal:
        plain(name)
    assert "\n" not in str(refusal.value)


SETTING = Setting(horizon=HORIZON, demand=Logistic(), features=main_effects(2), budget=BUDGET, seed=0, trial=0)


def test_a_plain_policy_is_made_from_its_setting(module: str) -> None:
    factory = plain(f"{module}:Good")
    assert type(make_plain(factory, SETTING, "Good")) is factory


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TakesNothing", r"cannot be made from a Setting: .* takes 1 positional argument but 2 were given"),
        ("TakesMore", r"cannot be made from a Setting: .* missing 1 required positional argument: 'more'"),
    ],
)
def test_a_constructor_that_does_not_take_a_setting_is_refused_in_one_line(
    name: str, message: str, module: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^policy '{name}' {message}") as refusal:
        make_plain(plain(f"{module}:{name}"), SETTING, name)
    assert "\n" not in str(refusal.value)
    assert isinstance(refusal.value.__cause__, TypeError)


def test_a_class_given_as_such_has_its_claim_checked_too(module: str) -> None:
    plain(f"{module}:Good")
    with pytest.raises(InvalidInput, match=r"^policy 'mine' must have an EpsilonDelta or None as claimed, got 1.0$"):
        make_plain(sys.modules[module].ClaimingANumber, SETTING, "mine")


def test_what_fails_inside_a_constructor_surfaces_as_it_is(module: str) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug of its own"):
        make_plain(plain(f"{module}:Fails"), SETTING, "Fails")


@pytest.mark.parametrize("entry", [{"width": 3.0}, {"ridge": 1.0}, {"max_estimates": 9}, {"exploration_periods": 0}])
def test_the_papers_rules_are_refused_for_policies_without_use_for_them(entry: dict[str, Any]) -> None:
    ((name, value),) = entry.items()
    for policy in ("noisy-newton", "random", "fixed", "clairvoyant"):
        with pytest.raises(InvalidInput, match=f"^{name} is for policies 'paper', 'nonprivate'"):
            built(policy, **entry)
    for policy in ("paper", "nonprivate", "input-perturbation"):
        assert getattr(built(policy, **entry).rules, name) == value


def test_settings_for_several_policies_are_left_to_those_that_read_them() -> None:
    asked = {"horizon": 10, "width": 3.0, "price": 0.5, "trigger": False}
    both = ["paper", "fixed"]
    assert read_by("paper", asked, both) == {"horizon": 10, "width": 3.0, "trigger": False}
    assert read_by("fixed", asked, both) == {"horizon": 10, "price": 0.5, "trigger": False}  # which then refuses it


def test_the_keywords_of_settings_are_their_fields() -> None:
    """Oracle: the dataclass itself; functions that pass settings on name `policy`, `horizon` and `product`."""
    hints = typing.get_type_hints(PolicySettings)
    named = ("policy", "horizon", "product")
    assert typing.get_type_hints(Settings) == {name: hints[name] for name in hints if name not in named}
    assert set(OPTIONS) == {option for name in POLICIES for option in reads(name)}


def test_a_policy_tells_its_settings_as_it_resolved_them() -> None:
    assert built("noisy-newton", reference_price=0.4, trigger=False).settings == {
        "reference_price": 0.4,
        "trigger": False,
        "bonus": True,
        "noise": True,
        "unit_cost": 0.0,
    }
    assert built("paper", width=2.0).settings == {
        "exploration_periods": 10,
        "ridge": 10.0,
        "width": 2.0,
        "max_estimates": TUNING.max_estimates,
    }
    assert built("fixed", price=0.5).settings == {"price": 0.5}
    assert built("random").settings == built("clairvoyant").settings == {}


def test_devices_that_are_asked_for_attributes_one_by_one_are_a_doubt_and_nothing_else_is() -> None:
    assert [trust for trust in TRUST if doubt_of(trust, 1)] == ["local", "shuffle"]
    assert not any(doubt_of(trust, 0) for trust in TRUST)


def test_a_policy_says_whether_it_reads_the_budget_and_whether_it_learns() -> None:
    made = {name: built(name) for name in NAMES}
    said = {name: (policy.reads_budget, policy.learns) for name, policy in made.items()}
    assert said == {name: (each.reads_budget, each.learns) for name, each in EXPECTED.items()}


def test_a_file_that_a_policys_folder_lacks_is_named_and_a_broken_one_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own_folder"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "engine.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidInput, match=r"^policy 'mine' has no saved.py in its folder, own_folder$"):
        part_of("own_folder", "saved", "mine")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        part_of("own_folder", "engine", "mine")
