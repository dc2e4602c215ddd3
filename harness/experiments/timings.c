/*
 * timings: experiments that cells of `attnbench run` answer; scripts/plot draws them and fits what they claim.
 */
#include <stddef.h>

#include "list.h"

static const char *const scaling[] = {"--problem=h=4,s=64",
                                      "--problem=h=4,s=128",
                                      "--problem=h=4,s=256",
                                      "--problem=h=4,s=512",
                                      "--problem=h=4,s=1024",
                                      "--problem=h=4,s=2048",
                                      "--problem=h=4,s=4096",
                                      "--problem=b=2,h=4,s=1024",
                                      "--problem=b=4,h=4,s=1024",
                                      "--problem=b=8,h=4,s=1024",
                                      "--kernel=flash,gemm",
                                      "--threads=1,all",
                                      "--launches=12",
                                      NULL};
static const char *const scaling_quick[] = {"--problem=h=4,s=128",
                                            "--problem=h=4,s=256",
                                            "--problem=h=4,s=512",
                                            "--problem=b=2,h=4,s=512",
                                            "--problem=b=4,h=4,s=512",
                                            "--kernel=flash",
                                            "--threads=1,all",
                                            "--launches=6",
                                            NULL};

const struct experiment experiment_scaling = {
    .name = "scaling",
    .question = "How does time grow with the sequence, with threads and with the batch?",
    .method =
        "Cells of attnbench run: checked, then launched in shuffled rounds, a process each time;\n"
        "medians of launch medians with exact 95 % intervals.  Over S on one thread and over the\n"
        "batch on the most: exponents by least squares of logarithms, intervals from Student's t.\n"
        "Over threads: speed-up as the median ratio of launches of the same round, with its exact\n"
        "interval, and efficiency, speed-up per thread.  Amdahl's law, 1 / (a + (1 - a) / n), is\n"
        "fitted from 4 thread counts on, the universal scalability law, n / (1 + a (n - 1) +\n"
        "b n (n - 1)), from 6 on: fewer leave no degrees of freedom for an interval.",
    .source =
        "Amdahl 1967, doi:10.1145/1465482.1465560; Gunther 2007, Guerrilla Capacity Planning,\n"
        "chapter 4",
    .run = scaling,
    .quick = scaling_quick,
};
