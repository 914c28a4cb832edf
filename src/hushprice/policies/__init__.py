"""How prices are learned, one folder a policy, and the one list of them that all entrances read.

A new policy is its folder and a line here.
"""

# The module whose `build` makes the policy, whose READS says which settings it reads, and KERNEL what compiled kernel
# runs its trials.
POLICIES = {
    "paper": "hushprice.policies.paper.policy",
    "noisy-newton": "hushprice.policies.newton.policy",
    "nonprivate": "hushprice.policies.paper.policy",
    "random": "hushprice.policies.baselines",
    "fixed": "hushprice.policies.baselines",
    "input-perturbation": "hushprice.policies.paper.policy",
    "clairvoyant": "hushprice.policies.baselines",
    "cautious": "hushprice.policies.cautious.policy",
}
FOR_PRODUCTS = ("cautious",)  # these price a Product; the others, customers of a market with prices in [0, 1]
