"""What the flags of a cell mean, in the words of the program (harness/bench/noise.c)."""

MEANING = {
    "preempted": "half of the launches lost the CPU more than 100 times per second and thread",
    "migrated": "a thread was found off its CPU",
    "steal": "the hypervisor took over 2 % of the time in half of the launches",
    "throttled": "a CPU quota ran out, or the processor slowed down because of heat",
    "frequency": "the clock was over 5 % off in a quarter of the launches",
    "oversubscribed": "more runnable threads than CPUs in half of the launches",
    "paged": "memory had to be read from disk",
    "halted": "the process was stopped for a while, as by SIGSTOP or a debugger",
    "grows": "the process took over 1 MiB more memory during the samples of half of the launches: "
    "a leak?",
    "prints": "the kernel wrote to standard output or error (log of the row)",
    "outliers": "over 5 % of the samples lie far above their launch's median",
    "bimodal": "samples or launches fall into two groups over 1 % apart",
    "drift": "times rise or fall by over 1 % in the course of the measurement",
    "elsewhere": "memory was not on the requested nodes, or none of it on the requested huge pages",
    "correlated": "successive launches were alike, so the interval was widened threefold or more",
    "no-interval": "fewer than 6 launches, too few for a 95 % interval",
}
