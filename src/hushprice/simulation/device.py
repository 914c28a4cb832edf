"""Where trials run: on the CPU, or on a GPU where there is one that can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput, NotAvailable
from hushprice.policies.protocol import Policy
from hushprice.policies.rival_parts.rival_policy import KERNEL as RIVALS
from hushprice.simulation.trial import Job

DEVICES = ("cpu", "gpu", "auto")
PRECISIONS = ("double", "single")


@dataclass(frozen=True, kw_only=True)
class ChosenDevice:
    """A device and a precision. `note` is what a person should know about the choice; empty where none was made."""

    device: str = "cpu"
    precision: str = "double"
    library: str = ""  # what compiles for a GPU
    note: str = ""

    @property
    def content(self) -> dict[str, str]:
        """What sets results from here apart; nothing on a CPU, whose results are the reference."""
        if self.device == "cpu":
            return {}
        return {"device": self.device, "precision": self.precision, "library": self.library}


CPU = ChosenDevice()


def choose(device: str, precision: str = "double", jobs: Iterable[Job] = ()) -> ChosenDevice:
    """The device for these jobs: what was asked for, or for "auto" a GPU that can run them all, else the CPU.

    >>> choose("cpu")
    ChosenDevice(device='cpu', precision='double', library='', note='')
    """
    checks.one_of(DEVICES, device=device)
    checks.one_of(PRECISIONS, precision=precision)
    if device == "cpu":
        if precision != "double":
            raise InvalidInput(f"precision must be double on the CPU, got {precision!r}")
        return CPU
    misfit = next(filter(None, map(unfit, jobs)), None)
    if device == "gpu" and misfit is not None:
        raise InvalidInput(misfit)
    from hushprice.simulation.gpu import device_facts

    why = misfit or device_facts.trouble()
    if device == "gpu" and why is not None:
        raise NotAvailable(why)
    if why is not None:
        return ChosenDevice(note=f"{why}; running on the CPU, in double precision")
    note = f"running on {device_facts.name()}, in {precision} precision" if device == "auto" else ""
    return ChosenDevice(device="gpu", precision=precision, library=device_facts.library(), note=note)


def unfit(job: Job) -> str | None:
    """Why a job cannot run on any GPU, in one line; None where it can."""
    if job.engine != "compiled" or not isinstance(job.policy, Policy):
        return "device 'gpu' takes built-in policies, demand and features only; run parts of your own on the CPU"
    if job.policy.kernel == RIVALS:
        return f"device 'gpu' has no kernel for policy {job.policy.name!r}; run it on the CPU"
    if job.market.features.contexts == 0:
        return "device 'gpu' needs customers with at least one attribute; run this market on the CPU"
    if job.keep_prices:
        return "device 'gpu' keeps no prices (keep_prices); run such trials on the CPU"
    if job.change is not None:
        return "device 'gpu' takes no changed record (change); run such trials on the CPU"
    return None
