/*
 * options_table: every command and every option.
 */
#include "options_table.h"

#include <stddef.h>

#define IN(command) (1u << COMMAND_##command)
#define SELECTS (IN(RUN) | IN(CHECK))

const struct options_command options_commands[COMMAND_COUNT] = {
    [COMMAND_LIST] = {"list", "kernels, variants, suites, and why one is unavailable",
                      "[--json | --matrix] [--plugin FILE]...", ""},
    [COMMAND_RUN] =
        {"run", "check and time kernels", "[OPTION]...",
         "Without --suite and --problem the suite is `default`.  Every cell (case, kernel,\n"
         "variant, threads) is checked against the float64 reference before it is timed,\n"
         "in one process per launch; launches of a case's cells are interleaved.\n"
         "\n"
         "Exit status: 0 success (unsupported and unavailable included), 1 a kernel\n"
         "failed its check, crashed, timed out or was implausible, 2 usage, 3 input,\n"
         "output or environment, 130 interrupted.\n"
         "\n"
         "attnbench help explains the tables: columns, flags, states.\n"},
    [COMMAND_CHECK] =
        {"check", "check kernels, on every adversarial input, without timing them", "[OPTION]...",
         "Without --suite and --problem the suite is `conformance`: every mask, option,\n"
         "type and layout in small cases; about two minutes a kernel with --isa all.\n"
         "Behind them come problems drawn at random (--draw).\n"
         "What a kernel does not claim to compute is unsupported, which is no failure,\n"
         "unless that is all there is: exit status 1 if nothing of a kernel that --kernel\n"
         "names was checked.\n"
         "\n"
         "Also prints the largest difference between any two kernels of a case.\n"
         "Otherwise the exit status is as for run.\n"
         "\n"
         "An element passes if its error is within a bound, derived from its inputs, on\n"
         "what rounding can do to a correct kernel.  Results on normal input must also\n"
         "have an RMS error, over at most 256 rows, within 8 times that of naive (16-bit\n"
         "results: plus their own rounding).\n"
         "\n"
         "On ordinary rows of hundreds of keys the bound is about 1e-5.  A single element\n"
         "with a relative error of 1e-5 is therefore caught only where the bound is tight\n"
         "(a row that sees one key, or gives one nearly all of its weight), where so few\n"
         "elements are compared that it changes their RMS, or where repeats or thread\n"
         "counts disagree on it (unless the kernel declares that it varies).  Everywhere\n"
         "else it passes, and so does any error in rows that a large case does not\n"
         "sample.  If every element is off by 1e-5, f32 results fail by their RMS, unless\n"
         "naive's own error, which grows with the number of keys, is close to that.\n"},
    [COMMAND_EVAL] =
        {"eval", "compute one attention from a file to a file",
         "--kernel K --input IN[:PREFIX] --output OUT [--problem OPTIONS]",
         "IN is a safetensors file with tensors PREFIXq, PREFIXk, PREFIXv and, if any,\n"
         "mask, bias, sinks, slopes, kv_lens, cu_seqlens, cu_seqlens_kv, block_table,\n"
         "k_scale and v_scale (docs/eval.md).  Every tensor that is there is used, and all\n"
         "sizes come from the tensors; OPTIONS give the rest, as in\n"
         "mask=causal,scale=0.125, and a size in them must match IN.  OUT gets o, and lse\n"
         "and weights if outputs asks for them.\n"},
    [COMMAND_EXPERIMENT] =
        {"experiment", "questions about attention, such as why 1/sqrt(d)", "NAME [PARAMETER]...",
         "Each experiment has parameters of its own: attnbench experiment NAME --help.\n"},
    [COMMAND_MACHINE] = {"machine", "topology, caches, ceilings", "[--json]", ""},
    [COMMAND_HELP] = {"help", "what columns, flags and states mean", "[TOPIC|COMMAND]", ""},
};

const struct option options_table[] = {
    {"suite", "NAME|FILE", offsetof(struct options, suite),
     "cases to use: built-in suites or suite files, comma separated; or all", TEXT, SELECTS},
    {"problem", "P", 0, "a problem, as in b=1,hq=8,hkv=8,s=1024,d=64,mask=causal; repeatable",
     PROBLEM, SELECTS},
    {"problem", "OPTIONS", 0,
     "what the tensors do not say, as in mask=causal,outputs=o+lse,dtype=bf16", PROBLEM, IN(EVAL)},
    {"case", "NAME", offsetof(struct options, cases),
     "only these cases of the suites, comma separated", TEXT, SELECTS},
    {"kernel", "A,B", offsetof(struct options, kernel),
     "kernels (flash), variants (flash/avx2) or groups: textbook, ours, rivals, plugins, all "
     "(default)",
     TEXT, SELECTS},
    {"kernel", "K", offsetof(struct options, kernel), "one kernel (flash) or variant (flash/avx2)",
     TEXT, IN(EVAL)},
    {"plugin", "FILE", 0,
     "kernels from a shared object, or from a program that speaks docs/protocol.md ('FILE "
     "ARGUMENT...' "
     "in one word); repeatable",
     PLUGIN, SELECTS | IN(EVAL) | IN(LIST)},
    {"blas", "L", offsetof(struct options, blas),
     "libraries that kernel gemm runs on, comma separated: openblas, blis, mkl; each is a row "
     "(default: the one this program is linked with)",
     TEXT, SELECTS},
    {"isa", "I", offsetof(struct options, isa),
     "instruction sets, comma separated; best (default: per kernel and problem, the variant that "
     "this host prefers); all",
     TEXT, SELECTS},
    {"isa", "I", offsetof(struct options, isa),
     "one instruction set; best (default: of those that compute the problem, the one that this "
     "host "
     "prefers)",
     TEXT, IN(EVAL)},
    {"threads", "N", offsetof(struct options, threads),
     "thread counts, comma separated; all = every core (default: 1,all)", TEXT, SELECTS},
    {"threads", "N", offsetof(struct options, threads), "one number of threads (default: 1)", TEXT,
     IN(EVAL)},
    {"placement", "WHERE", offsetof(struct options, placement),
     "cores (default), threads, numa or none", PLACE, SELECTS},
    {"memory", "WHERE", offsetof(struct options, memory),
     "first-touch (default: near the thread that uses it), interleave, or bind to the threads' "
     "nodes",
     MEMORY, IN(RUN)},
    {"huge-pages", NULL, offsetof(struct options, huge_pages),
     "ask for huge pages; results say how much lies on them", FLAG, IN(RUN)},
    {"cold", NULL, offsetof(struct options, cold), "rotate through more operands than caches hold",
     FLAG, IN(RUN)},
    {"seconds", "T", offsetof(struct options, seconds),
     "session length to aim for (default: enough for six launches per cell)", SECONDS, IN(RUN)},
    {"launches", "N", offsetof(struct options, launches),
     "at most this many launches per cell (below 6: no interval); without --seconds no time limit",
     COUNT, IN(RUN)},
    {"timeout", "T", offsetof(struct options, timeout_s),
     "give up a launch after this many seconds, not counting those in which other processes had "
     "the CPUs (default: by the problem's size)",
     SECONDS, SELECTS | IN(EVAL)},
    {"seed", "N", offsetof(struct options, seed),
     "order of launches and shifts of operands (default: from the clock; recorded)", SEED, SELECTS},
    {"draw", "N", offsetof(struct options, draws),
     "and so many problems drawn at random from --seed, each on its own input; a failure is "
     "reduced "
     "to a simple problem (default: 500, with --suite, --problem or --case 0)",
     DRAWS, IN(CHECK)},
    {"if-busy", "WHAT", offsetof(struct options, if_busy),
     "if another session measures on this machine: wait (default) or go-on", BUSY, IN(RUN)},
    {"input", "FILE[:P]", offsetof(struct options, input),
     "safetensors with Pq, Pk and Pv, as in gpt.safetensors:layer0.", TEXT, IN(EVAL)},
    {"output", "FILE", offsetof(struct options, output),
     "results as JSON Lines; - for standard output", TEXT, SELECTS},
    {"output", "FILE", offsetof(struct options, output), "safetensors to write", TEXT, IN(EVAL)},
    {"force", NULL, offsetof(struct options, force), "replace the file of --output", FLAG, SELECTS},
    {"resume", "FILE", offsetof(struct options, resume),
     "continue an interrupted session, with its own options unless they are given again", TEXT,
     SELECTS},
    {"json", NULL, offsetof(struct options, json), "JSON instead of text", FLAG,
     IN(LIST) | IN(MACHINE)},
    {"matrix", NULL, offsetof(struct options, matrix),
     "kernels by features: which masks, caches, types and outputs each has", FLAG, IN(LIST)},
    {"help", NULL, offsetof(struct options, help), "this page", FLAG, ~0u},
};

const size_t options_table_size = sizeof options_table / sizeof *options_table;
