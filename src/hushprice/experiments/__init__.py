"""What the paper's tables, figures and theorems say, put to the test on simulated markets."""
