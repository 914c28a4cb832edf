"""One of two aggregators of trust `aggregated`: a process of its own, run by somebody who is not the shop.

aggregator_store.py   its file: shares that wait, batches that are over, totals that are published
application.py        its calls, for devices and for the shop's learner
aggregator_main.py    its start and its end
"""
