/*
 * timings: experiments on time and memory that are sessions of `attnbench run`; scripts/plot draws and fits
 * their rows.
 */
#include <stddef.h>

#include "list.h"

static const char *const scaling[] = {"--problem=h=4,s=64..4096*2",
                                      "--problem=b=2..8*2,h=4,s=1024",
                                      "--kernel=flash,gemm",
                                      "--threads=1..all*2,all",
                                      "--launches=12",
                                      NULL};
static const char *const scaling_quick[] = {"--problem=h=4,s=64..256*2",
                                            "--problem=b=2|4,h=4,s=64",
                                            "--kernel=flash",
                                            "--threads=1..all*2,all",
                                            "--launches=6",
                                            "--check=case",
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

static const char *const tiles[] = {"--problem=h=4,sq=256,skv=2048,d=64",
                                    "--problem=h=4,sq=256,skv=2048,d=128",
                                    "--kernel=flash/avx512,plugins",
                                    "--threads=1",
                                    "--launches=12",
                                    NULL};
static const char *const tiles_quick[] = {"--problem=h=4,sq=256,skv=512,d=64",
                                          "--kernel=flash/avx512,flash_k64_q32,flash_k64_q128",
                                          "--threads=1",
                                          "--launches=6",
                                          "--check=case",
                                          NULL};
static const char *const tiles_beside[] = {"attnbench_plugins/tiles/tiles.so", NULL};

const struct experiment experiment_tiles = {
    .name = "tiles",
    .question = "How many queries and keys should the blocks of flash have?",
    .method =
        "flash compiled with each size, Br queries by Bc keys, and flash as it is: cells of\n"
        "attnbench run on one thread, checked, then launched in shuffled rounds, a process each\n"
        "time.  Percent of the multiply-add rate measured beside each launch, so that a change of\n"
        "clock cancels, and half the exact 95 % interval of the median time.  The sizes are of "
        "the\n"
        "avx512 variant, whose tiles have 32 queries.",
    .source = "Dao 2023, FlashAttention-2, arXiv:2307.08691, section 3.3",
    .run = tiles,
    .quick = tiles_quick,
    .beside = tiles_beside,
};

static const char *const layouts[] = {"--problem=h=4,sq=256,skv=1024,d=64", "--kernel=plugins",
                                      "--threads=1", "--launches=12", NULL};
static const char *const layouts_quick[] = {
    "--problem=h=4,sq=256,skv=1024,d=64",
    ("--kernel=flash_again_1,flash_again_2,flash_again_3,flash_again_4,flash_again_5,flash_again_6,"
     "flash_stack_16,flash_stack_32,flash_stack_48,flash_stack_1104,flash_stack_2144,flash_stack_"
     "3504,"
     "flash_code_16,flash_code_32,flash_code_48,flash_code_1104,flash_code_2144,flash_code_3504"),
    "--threads=1",
    "--launches=6",
    "--check=case",
    NULL};
static const char *const layouts_beside[] = {"attnbench_plugins/layouts/again_1.so",
                                             "attnbench_plugins/layouts/again_2.so",
                                             "attnbench_plugins/layouts/again_3.so",
                                             "attnbench_plugins/layouts/again_4.so",
                                             "attnbench_plugins/layouts/again_5.so",
                                             "attnbench_plugins/layouts/again_6.so",
                                             "attnbench_plugins/layouts/stack_16.so",
                                             "attnbench_plugins/layouts/stack_32.so",
                                             "attnbench_plugins/layouts/stack_48.so",
                                             "attnbench_plugins/layouts/stack_1104.so",
                                             "attnbench_plugins/layouts/stack_2144.so",
                                             "attnbench_plugins/layouts/stack_3504.so",
                                             "attnbench_plugins/layouts/code_16.so",
                                             "attnbench_plugins/layouts/code_32.so",
                                             "attnbench_plugins/layouts/code_48.so",
                                             "attnbench_plugins/layouts/code_1104.so",
                                             "attnbench_plugins/layouts/code_2144.so",
                                             "attnbench_plugins/layouts/code_3504.so",
                                             NULL};

const struct experiment experiment_layouts = {
    .name = "layouts",
    .question = "How far does a kernel's time move with where its code and its stack lie?",
    .method =
        "The same object code as cells of attnbench run on one thread, checked, then launched in\n"
        "shuffled rounds, a process each time: as it is, six times over; its calls 16 to 3504 "
        "bytes\n"
        "further down the stack; and linked behind as much padding, as another link order would\n"
        "place it.  The spread is that between the farthest two of six layouts, over the rounds "
        "that\n"
        "all of a kernel have, with a 95 % interval by bootstrap over rounds; by chance: how "
        "often\n"
        "launches shuffled anew within their rounds spread by so much more than the repeats.  "
        "Linux\n"
        "draws the addresses of each process anew; under setarch -R they are fixed, and a layout "
        "is\n"
        "the same in all its launches.",
    .source = "Mytkowicz et al. 2009, doi:10.1145/1508244.1508275; Curtsinger and Berger 2013,\n"
              "Stabilizer, doi:10.1145/2451116.2451141",
    .run = layouts,
    .quick = layouts_quick,
    .beside = layouts_beside,
};

static const char *const memory[] = {"--problem=s=256..8192*2,outputs=o|o+weights", "--threads=1",
                                     "--launches=1", NULL};
static const char *const memory_quick[] = {"--problem=s=128..512*2,outputs=o|o+weights",
                                           "--kernel=naive,flash",
                                           "--threads=1",
                                           "--launches=1",
                                           "--check=case",
                                           NULL};

const struct experiment experiment_memory = {
    .name = "memory",
    .question = "How does memory grow with the sequence, with and without the weights?",
    .method =
        "Cells of attnbench run, one head on one thread: the workspace that the kernel asks for,\n"
        "with its operands and results.  Exponents by least squares of logarithms over S, with\n"
        "95 % intervals from Student's t.",
    .source = "Rabe and Staats 2021, arXiv:2112.05682; Dao et al. 2022, arXiv:2205.14135",
    .run = memory,
    .quick = memory_quick,
};

static const char *const distributed[] = {"--problem=h=8,s=2048..8192*2,d=64,mask=causal",
                                          "--kernel=flash,plugins", "--threads=1..all*2,all",
                                          "--launches=8", NULL};
static const char *const distributed_quick[] = {"--problem=h=8,s=1024,d=64,mask=causal",
                                                "--kernel=flash,ring_1,ring_2",
                                                "--threads=all",
                                                "--launches=3",
                                                "--check=case",
                                                NULL};
static const char *const distributed_beside[] = {
    "attnbench-ring --ranks 1", "attnbench-ring --ranks 2", "attnbench-ring --ranks 4", NULL};

const struct experiment experiment_distributed = {
    .name = "distributed",
    .question = "What does attention over several processes cost, and what would it on a cluster?",
    .method =
        "Cells of attnbench run: the kernels of attnbench-ring, one a number of ranks, beside\n"
        "flash, checked, then launched in shuffled rounds.  Ranks share the threads evenly; other\n"
        "numbers of threads are unsupported, and more ranks than cores take --placement none and\n"
        "--threads.  A model: a rank computes its share of each step at the rate that flash has "
        "on\n"
        "as many threads, while the keys and values of a step are under way with the latency and\n"
        "bandwidth of a ping-pong in the same processes; the longer of the two counts, their sum\n"
        "on one host, where the same cores do both.  scripts/plot says how far it is from what "
        "was\n"
        "measured, and what it predicts for 8 to 1024 ranks, each a host like this one, over\n"
        "networks that it names.",
    .source = "Liu, Zaharia and Abbeel 2023, Ring Attention, arXiv:2310.01889",
    .run = distributed,
    .quick = distributed_quick,
    .beside = distributed_beside,
};
