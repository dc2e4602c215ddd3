"""Python tools of attnbench; each has its entry point in scripts/."""
