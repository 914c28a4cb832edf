"""Every number a budget leads to under the paper's calibrations."""
