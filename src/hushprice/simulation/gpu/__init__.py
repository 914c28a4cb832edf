"""Trials on a GPU: one thread a trial, the same steps as on the CPU. Needs the extra `gpu`; loaded when asked for."""
