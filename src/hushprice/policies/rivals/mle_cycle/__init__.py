"""MLE-CYCLE: Broder and Rusmevichientong, "Dynamic pricing under a general parametric choice model", 2012."""
