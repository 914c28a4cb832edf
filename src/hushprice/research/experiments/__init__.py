"""The paper's tables and figures run again, and its theory checked: one file each, named by what it shows."""
