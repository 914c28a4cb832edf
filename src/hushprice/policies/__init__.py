"""How prices are learned, one folder a policy, and the one list of them that all entrances read.

A new policy is its folder and a line here.
"""

# The module whose `build` makes the policy, whose READS says which settings it reads, and KERNEL what compiled kernel
# runs its trials. A rival's has READS and `rival`.
POLICIES = {
    "paper": "hushprice.policies.paper.policy",
    "noisy-newton": "hushprice.policies.newton.policy",
    "nonprivate": "hushprice.policies.paper.policy",
    "random": "hushprice.policies.baselines",
    "fixed": "hushprice.policies.baselines",
    "input-perturbation": "hushprice.policies.paper.policy",
    "clairvoyant": "hushprice.policies.baselines",
    "cautious": "hushprice.policies.cautious.policy",
    "shariff-sheffet": "hushprice.policies.rivals.shariff_sheffet.policy",
    "shariff-sheffet-revenue": "hushprice.policies.rivals.shariff_sheffet.policy",
    "thompson": "hushprice.policies.rivals.thompson.policy",
    "ucb-glm": "hushprice.policies.rivals.ucb_glm.policy",
    "glm-ucb": "hushprice.policies.rivals.glm_ucb.policy",
    "greedy-ils": "hushprice.policies.rivals.greedy_ils.policy",
    "greedy-ils-dispersed": "hushprice.policies.rivals.greedy_ils.policy",
    "mle-cycle": "hushprice.policies.rivals.mle_cycle.policy",
    "one-price": "hushprice.policies.rivals.one_price.policy",
    "rmlp": "hushprice.policies.rivals.rmlp.policy",
    "ellipsoid": "hushprice.policies.rivals.ellipsoid.policy",
    "wang-optimism": "hushprice.policies.rivals.wang_optimism.policy",
    "ldp-sgd": "hushprice.policies.rivals.ldp_sgd.policy",
    "ldp-mab": "hushprice.policies.rivals.ldp_mab.policy",
    "mishra-ucb": "hushprice.policies.rivals.mishra.policy",
    "mishra-thompson": "hushprice.policies.rivals.mishra.policy",
    "shuffle-glm": "hushprice.policies.rivals.shuffle_glm.policy",
    "ldp-glm": "hushprice.policies.rivals.ldp_glm.policy",
    "offline-private": "hushprice.policies.rivals.offline_private.policy",
    "almost-free": "hushprice.policies.rivals.almost_free.policy",
    "glm-pricing": "hushprice.policies.rivals.glm_pricing.policy",
    "glm-pricing-mixed": "hushprice.policies.rivals.glm_pricing.policy",
    "glm-pricing-open": "hushprice.policies.rivals.glm_pricing.policy",
    "tang": "hushprice.policies.rivals.tang.policy",
    "ban-keskin": "hushprice.policies.rivals.ban_keskin.policy",
    "private-bisection": "hushprice.policies.rivals.private_bisection.policy",
}
FOR_PRODUCTS = ("cautious",)  # these price a Product; the others, customers of a market with prices in [0, 1]
