"""Private bandits on a price grid: Mishra and Thakurta, "(Nearly) optimal differentially private stochastic
multi-arm bandits", 2015.
"""
