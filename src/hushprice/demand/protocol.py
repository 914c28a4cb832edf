"""What a demand family must offer (sec:models, eq:exp-family and conditions 1-5).

Bring your own by writing a class with these members and family = CUSTOM; it then runs on the plain-Python engine.
`demand/conformance.py` checks a family's constants against its functions.
"""

from __future__ import annotations

from typing import Protocol

from hushprice.types import FloatArray


class Demand(Protocol):
    """exp{slope (y z - m(z)) + h(y)} with mean f = m', demand clipped to [-bound, bound].

    Functions take and return arrays. The constants are declarations, and noise is calibrated to them.
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> int:
        """The code of demand/family.py that compiled steps switch on, or CUSTOM."""
        ...

    @property
    def slope(self) -> float:
        """zeta."""
        ...

    @property
    def bound(self) -> float:
        """B_Y: enforced by clipping every observed demand, so privacy never rests on the model being right."""
        ...

    @property
    def lowest(self) -> float:
        """The least demand: records are clipped to [lowest, bound]. A family that does not say gets -bound."""
        return -self.bound

    @property
    def subgaussian(self) -> float:
        """s: E exp(l (y - f)) <= exp(l^2 s^2 / 2)."""
        ...

    @property
    def curvature(self) -> float:
        """K: 1/K <= f'(z) <= K for |z| <= 2."""
        ...

    @property
    def steepest(self) -> float:
        """sup f'(z) for |z| <= 2: what one record can add to the likelihood's curvature. K bounds it from above."""
        return self.curvature

    @property
    def scale(self) -> float:
        """G: 1/G <= slope <= G."""
        ...

    @property
    def paper_curvature(self) -> float:
        """The K of the paper's own example of this family, which its calibrations use."""
        ...

    @property
    def largest_revenue(self) -> float:
        """A bound on p f(z) for ||theta|| <= 1; the cap of the price objective (1 in the paper)."""
        ...

    def mean(self, z: FloatArray) -> FloatArray:
        """f(z)."""
        ...

    def mean_slope(self, z: FloatArray) -> FloatArray:
        """f'(z)."""
        ...

    def log_partition(self, z: FloatArray) -> FloatArray:
        """m(z)."""
        ...

    def log_base(self, y: FloatArray) -> FloatArray:
        """h(y)."""
        ...

    def log_likelihood(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """slope (y z - m(z)) + h(y)."""
        ...

    def sample(self, z: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Demand from two independent uniforms per entry, clipped to [-bound, bound]."""
        ...


def lowest(demand: Demand) -> float:
    """The least demand; -B_Y where a family of one's own does not say."""
    return float(getattr(demand, "lowest", -demand.bound))


def steepest(demand: Demand) -> float:
    """sup f' on |z| <= 2; K, which bounds it, where a family of one's own does not say."""
    return float(getattr(demand, "steepest", demand.curvature))
