/*
 * options_table: every command and every option.
 */
#include "options.h"

#include <stddef.h>

#define IN(command) (1u << COMMAND_##command)
#define SELECTS (IN(RUN) | IN(CHECK))
#define FIELD(member) .offset = offsetof(struct options, member)

static const char *const busy[] = {[IF_BUSY_WAIT] = "wait", [IF_BUSY_GO_ON] = "go-on", NULL};

static const char *const checks[] = {[CHECKED_FULL] = "full", [CHECKED_CASE] = "case", NULL};

const struct options_command options_commands[COMMAND_COUNT] = {
    [COMMAND_LIST] = {"list", "kernels, variants, suites, and why one is unavailable",
                      "[--json | --matrix] [--plugin FILE]...", "", NULL},
    [COMMAND_RUN] =
        {"run", "check and time kernels", "[OPTION]...",
         "Without --suite, --problem and --model the suite is `default`.  Every cell (case,\n"
         "kernel, variant, threads) is checked against the float64 reference before it is\n"
         "timed, in one process per launch; launches of a case's cells are interleaved.\n"
         "\n"
         "Exit status: 0 success (unsupported and unavailable included), 1 a kernel\n"
         "failed its check, crashed, timed out or was implausible, 2 usage, 3 input,\n"
         "output or environment, 130 interrupted.\n"
         "\n"
         "With --base-options '--placement cores' --new-options 'A=1 --huge-pages' each\n"
         "cell is measured under both settings, in the same rounds.  Below a case stands\n"
         "by how much new differs from base: the median of the launches' ratios, round by\n"
         "round, with its 95 % interval.  SLOWER, FASTER: the interval excludes 0, and\n"
         "the change is above 2 %; SAME: the interval lies within 2 %; else UNCLEAR.\n"
         "Each cell is judged for itself; scripts/gate takes the same options, allows for\n"
         "the number of cells, and measures again what looks slower.\n"
         "\n"
         "attnbench help explains the tables: columns, flags, states.\n",
         NULL},
    [COMMAND_CHECK] =
        {"check", "check kernels, on every adversarial input, without timing them", "[OPTION]...",
         "Without --suite, --problem and --model the suite is `conformance`: every mask,\n"
         "option, type and layout in small cases, some minutes a kernel with --isa all.\n"
         "Then come problems drawn at random (--draw).\n"
         "\n"
         "With --invariant the suite is `invariance`, and nothing is drawn.  A kernel that\n"
         "says its results vary is unsupported there.\n"
         "\n"
         "What a kernel does not claim to compute is unsupported, which is no failure; a\n"
         "kernel named by --kernel of which nothing was checked is (exit status 1).\n"
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
         "naive's own error, which grows with the number of keys, is close to that.\n",
         NULL},
    [COMMAND_TUNE] =
        {"tune", "measure which kernels this host should choose, and write it to a file",
         "--output FILE [OPTION]...",
         "Runs the library's kernels on the cases, without --suite and --problem those of\n"
         "the suite `default`, and writes which of them won: --wisdom FILE of run and check\n"
         "makes `--kernel best` use it, attn_wisdom_load() of wisdom.h a program.\n"
         "\n"
         "Another variant than the rules' is written where the 95 % interval of the ratio\n"
         "of their times, round by round, excludes 1.\n"
         "A choice holds for problems of the same types, dimensions and threads, up to a\n"
         "factor of 1.5 away in heads, rows and keys together; the rules decide elsewhere.\n"
         "A file of another host or version, or one that was edited, is refused.\n",
         NULL},
    [COMMAND_EVAL] =
        {"eval", "compute one attention from a file to a file",
         "--kernel K --input IN[:PREFIX] --output OUT [--problem OPTIONS]",
         "IN is a safetensors file with tensors PREFIXq, PREFIXk, PREFIXv and, if any,\n"
         "mask, bias, sinks, slopes, kv_lens, cu_seqlens, cu_seqlens_kv, block_table,\n"
         "k_scale, v_scale, k_zero, v_zero, parents and indices (docs/eval.md).  Every tensor\n"
         "there is used, and all sizes come from the tensors; OPTIONS give the rest, as in\n"
         "mask=causal,scale=0.125, and a size in them must match IN.  OUT gets o, and lse,\n"
         "weights and scores if outputs asks for them.\n",
         NULL},
    [COMMAND_EXPERIMENT] = {"experiment", "questions about attention, such as why 1/sqrt(d)",
                            "NAME|all [PARAMETER]... [--output FILE]", "", .subject = "name"},
    [COMMAND_MACHINE] = {"machine", "topology, caches, ceilings", "[--json]", "", NULL},
    [COMMAND_HELP] = {"help", "what columns, flags and states mean", "[TOPIC|COMMAND]", "",
                      .subject = "topic"},
    [COMMAND_COMPLETION] =
        {"completion", "a script that completes command lines in a shell", "bash|zsh|fish",
         "`source <(attnbench completion bash)` in ~/.bashrc, likewise zsh after compinit;\n"
         "`attnbench completion fish | source` in config.fish.  cmake --install puts the\n"
         "scripts where these shells look for them.\n",
         .subject = "shell"},
};

const struct option options_table[] = {
    {"suite", "NAME|FILE", .kind = OPTION_TEXT, FIELD(suite),
     .commands = SELECTS | IN(TUNE) | IN(LIST),
     .help = "cases to use: built-in suites or suite files, comma separated; or all"},
    {"problem", "P", .kind = OPTION_PROBLEMS, .commands = SELECTS | IN(TUNE),
     .help = "a problem, as in b=1,hq=8,hkv=8,s=1024,d=64,mask=causal; repeatable"},
    {"model", "M[:tpN]", .kind = OPTION_TEXT, FIELD(model), .commands = SELECTS | IN(TUNE),
     .help =
         "the attention layers of models, comma separated, by name or by config.json; tpN: of one "
         "of N workers.  At the sizes of the next three options: lists of numbers, and ranges as "
         "in a problem"},
    {"prefill", "S", .kind = OPTION_TEXT, FIELD(prefill), .commands = SELECTS | IN(TUNE),
     .help = "a pass over S tokens"},
    {"decode", "S", .kind = OPTION_TEXT, FIELD(decode), .commands = SELECTS | IN(TUNE),
     .help = "one token on S keys"},
    {"batch", "B", .kind = OPTION_TEXT, FIELD(batch), .commands = SELECTS | IN(TUNE),
     .help =
         "so many sequences decode together, or pass together where no --decode is given (default: "
         "1); or these, as in 2q2k,32q1s4k: 2 of 2048 queries, 32 of one on 4096 keys.  With a "
         "--problem that has no lengths, only the latter form"},
    {"problem", "OPTIONS", .kind = OPTION_PROBLEMS, .commands = IN(EVAL),
     .help = "what the tensors do not say, as in mask=causal,outputs=o+lse,dtype=bf16"},
    {"case", "NAME", .kind = OPTION_TEXT, FIELD(cases), .commands = SELECTS | IN(TUNE),
     .help = "only these cases of the suites, comma separated"},
    {"kernel", "A,B", .kind = OPTION_TEXT, FIELD(kernel), .commands = SELECTS,
     .help = "kernels (flash), variants (flash/avx2) or groups: textbook, ours, rivals, plugins, "
             "all (default); best: what the library chooses for each problem and thread count"},
    {"kernel", "K", .kind = OPTION_TEXT, FIELD(kernel), .commands = IN(EVAL),
     .help = "one kernel (flash) or variant (flash/avx2)"},
    {"plugin", "FILE", .kind = OPTION_PLUGINS,
     .commands = SELECTS | IN(EVAL) | IN(LIST) | IN(EXPERIMENT),
     .help = "kernels from a shared object, or from a program that speaks docs/protocol.md ('FILE "
             "ARGUMENT...' in one word); repeatable"},
    {"blas", "L", .kind = OPTION_TEXT, FIELD(blas), .commands = SELECTS,
     .help = "libraries that kernel gemm runs on, comma separated: openblas, blis, mkl; each is a "
             "row (default: the one this program is linked with)"},
    {"isa", "I", .kind = OPTION_TEXT, FIELD(isa), .commands = SELECTS,
     .help = "instruction sets, comma separated; best (default: per kernel and problem, the "
             "variant that this host prefers); all"},
    {"isa", "I", .kind = OPTION_TEXT, FIELD(isa), .commands = IN(EVAL),
     .help = "one instruction set; best (default: of those that compute the problem, the one that "
             "this host prefers)"},
    {"threads", "N", .kind = OPTION_TEXT, FIELD(threads), .commands = SELECTS | IN(TUNE),
     .help = "thread counts, comma separated, and ranges as in a problem (1..16*2); all = every "
             "core (default: 1,all)"},
    {"threads", "N", "1", .kind = OPTION_COUNT, .lo = 1, .hi = 4096, FIELD(team),
     .commands = IN(EVAL), .help = "one number of threads"},
    {"placement", "WHERE", "cores", .kind = OPTION_WORD, .words = machine_placements,
     FIELD(setting.placement), .commands = SELECTS | IN(TUNE),
     .help = "where threads are bound: cores, one on each core; threads, one on each hardware "
             "thread, the threads of a core one after the other; numa, one on each core, the NUMA "
             "nodes in turns; none: the system decides"},
    {"memory", "WHERE", "first-touch", .kind = OPTION_WORD, .words = machine_memories,
     FIELD(setting.memory), .commands = IN(RUN) | IN(TUNE),
     .help = "first-touch, near the thread that uses it; interleave; or bind to the threads' "
             "nodes"},
    {"huge-pages", .kind = OPTION_FLAG, FIELD(setting.huge_pages), .commands = IN(RUN) | IN(TUNE),
     .help = "ask for huge pages; results say how much lies on them"},
    {"cold", .kind = OPTION_FLAG, FIELD(setting.cold), .commands = IN(RUN),
     .help = "rotate through more operands than caches hold"},
    {"environment", "TEXT", .kind = OPTION_TEXT, FIELD(environment), .commands = IN(RUN),
     .help = "variables of the workers' environment, as in 'A=1 B=2'; also those that are "
             "otherwise set for them, as OMP_WAIT_POLICY"},
    {"base-options", "TEXT", .kind = OPTION_SETTING, FIELD(base_options), .commands = IN(RUN),
     .help = "the setting that --new-options is compared with: variables (NAME=VALUE), then "
             "--placement, --memory, --huge-pages, --cold; what it does not say is as for the "
             "session"},
    {"new-options", "TEXT", .kind = OPTION_SETTING, FIELD(new_options), .commands = IN(RUN),
     .help = "the same of the other setting: each cell is measured under both"},
    {"check", "DEPTH", "full", .kind = OPTION_WORD, .words = checks, FIELD(checked),
     .commands = IN(RUN),
     .help = "of a kernel before it is timed: full, or case: only the case's own input, which the "
             "column check then says"},
    {"seconds", "T", .kind = OPTION_SECONDS, .lo = 1e-3, .hi = 1e7, FIELD(seconds),
     .commands = IN(RUN) | IN(TUNE),
     .help = "session length to aim for (default: enough for six launches per cell, besides the "
             "checks)"},
    {"launches", "N", .kind = OPTION_COUNT, .lo = 1, .hi = 1e4, FIELD(launches),
     .commands = IN(RUN) | IN(TUNE),
     .help = "at most this many launches per cell (below 6: no interval); without --seconds no "
             "time limit"},
    {"timeout", "T", .kind = OPTION_SECONDS, .lo = 1e-3, .hi = 1e7, FIELD(timeout_s),
     .commands = SELECTS | IN(EVAL) | IN(TUNE),
     .help = "give up a launch after this many seconds, not counting those in which other "
             "processes had the CPUs (default: by the problem's size)"},
    {"seed", "N", .kind = OPTION_COUNT, .hi = 0x1p63, FIELD(seed), .commands = SELECTS | IN(TUNE),
     .help = "order of launches and shifts of operands (default: from the clock; recorded)"},
    {"seed", "N", "1", .kind = OPTION_COUNT, .hi = 9e15, FIELD(seed), .commands = IN(EXPERIMENT),
     .help = "seed of all random numbers"},
    {"draw", "N", .kind = OPTION_COUNT, .hi = 1e4, FIELD(draws), .commands = IN(CHECK),
     .help = "so many more problems, drawn at random from --seed, each with an input of its own; a "
             "failure is reduced to a simple problem (default: 500; 0 with --suite, --problem, "
             "--model or --case)"},
    {"threads", "N", "0", .kind = OPTION_COUNT, .hi = 4096, FIELD(team), .commands = IN(EXPERIMENT),
     .help = "threads of a worker; 0: one per core"},
    {"if-busy", "WHAT", "wait", .kind = OPTION_WORD, .words = busy, FIELD(if_busy),
     .commands = IN(RUN) | IN(EXPERIMENT) | IN(TUNE),
     .help = "if another session measures on this machine, before times are taken: wait or go-on"},
    {"quick", .kind = OPTION_FLAG, FIELD(quick), .commands = IN(EXPERIMENT),
     .help = "smaller numbers, in seconds"},
    {"input", "FILE[:P]", .kind = OPTION_TEXT, FIELD(input), .commands = IN(EVAL),
     .help = "safetensors with Pq, Pk and Pv, as in gpt.safetensors:layer0."},
    {"output", "FILE", .kind = OPTION_TEXT, FIELD(output), .commands = SELECTS | IN(EXPERIMENT),
     .help = "results as JSON Lines; - for standard output"},
    {"output", "FILE", .kind = OPTION_TEXT, FIELD(output), .commands = IN(EVAL),
     .help = "safetensors to write"},
    {"output", "FILE", .kind = OPTION_TEXT, FIELD(output), .commands = IN(TUNE),
     .help = "the choices to write"},
    {"wisdom", "FILE", .kind = OPTION_TEXT, FIELD(wisdom), .commands = SELECTS,
     .help = "choices that attnbench tune measured on this host, for --kernel best"},
    {"force", .kind = OPTION_FLAG, FIELD(force), .commands = SELECTS | IN(EXPERIMENT) | IN(TUNE),
     .help = "replace the file of --output"},
    {"resume", "FILE", .kind = OPTION_TEXT, FIELD(resume), .commands = SELECTS,
     .help = "continue an interrupted session, with its own options unless they are given again"},
    {"invariant", .kind = OPTION_FLAG, FIELD(invariant), .commands = IN(CHECK),
     .help =
         "instead of all else whether a row's bits depend on its own sequence alone: not on the "
         "batch, its place there, its neighbours, threads or the call"},
    {"dry-run", .kind = OPTION_FLAG, FIELD(dry_run), .commands = SELECTS | IN(TUNE),
     .help = "say how many cells there are, how long they take and in how much memory, and end"},
    {"json", .kind = OPTION_FLAG, FIELD(json), .commands = IN(LIST) | IN(MACHINE),
     .help = "JSON instead of text"},
    {"man", .kind = OPTION_FLAG, FIELD(man), .commands = IN(HELP),
     .help = "the page of a command, or of the program, as source of a manual page"},
    {"matrix", .kind = OPTION_FLAG, FIELD(matrix), .commands = IN(LIST),
     .help = "kernels by features: which masks, caches, types and outputs each has"},
    {"help", .kind = OPTION_FLAG, FIELD(help), .commands = ~0u, .help = "this page"},
    {0},
};
