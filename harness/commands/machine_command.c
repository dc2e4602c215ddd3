/*
 * machine_command: topology, and ceilings measured by workers of one thread and of all threads.
 */
#include "commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session/launch.h"
#include "base/message.h"
#include "base/progress.h"
#include "results/report.h"
#include "results/report_rows.h"
#include "session/session.h"
#include "base/units.h"
#include "base/members.h"
#include "system/process.h"

#define DEADLINE_S 120.0
#define LINE_INDENT 25 /* of continued lines, columns */

/* The ceilings at a thread count; NULL fills message. */
static json_t *ceilings_at(int threads, struct message message)
{
    struct protocol_request request = {.action = PROTOCOL_CEILINGS,
                                       .threads = threads,
                                       .team = threads,
                                       .setting.placement = PLACEMENT_CORES,
                                       .files = PROTOCOL_NO_FILES};
    attn_problem_init(&request.c.problem);
    struct launch launch = launch_worker(&request, DEADLINE_S);
    if (!launch.interrupted && launch.state == CELL_OK)
        return launch.answer;
    message_print(message, "%s", launch.interrupted ? "interrupted" : launch.why);
    json_decref(launch.answer);
    return NULL;
}

/* Prints "-" for a data type for which the instruction set has no instructions. */
static void print_arithmetic(const json_t *at)
{
    static const struct {
        const char *title, *key;
    } columns[] = {{"f64", "f64_gflops"},
                   {"f32", "f32_gflops"},
                   {"from L1", "f32_from_l1_gflops"},
                   {"bf16", "bf16_gflops"},
                   {"from L1", "bf16_from_l1_gflops"},
                   {"int8", "i8_gops"},
                   {"exp", "exp_g_per_s"}};
    const size_t count = sizeof columns / sizeof *columns;
    size_t i;
    json_t *isa;
    printf("  %-12s", "isa");
    for (size_t c = 0; c < count; c++)
        printf(" %8s", columns[c].title);
    json_array_foreach (json_object_get(at, "arithmetic"), i, isa) {
        printf("\n  %-12s", member_text(isa, "isa"));
        for (size_t c = 0; c < count; c++) {
            char number[UNITS_TEXT];
            units_number(member_number(isa, columns[c].key), number);
            printf(" %8s", *number ? number : "-");
        }
    }
    printf("\n");
}

static void print_bandwidth(const json_t *at)
{
    size_t i;
    json_t *level;
    char bytes[UNITS_TEXT], name[16];
    printf("  %-14s %10s %10s\n", "footprint", "read", "copy");
    json_array_foreach (json_object_get(at, "bandwidth"), i, level) {
        units_bytes(member_number(level, "bytes"), bytes);
        snprintf(name, sizeof name, "L%.0f", member_number(level, "level"));
        printf("  %-4s %9s %10.1f %10.1f\n",
               json_is_true(json_object_get(level, "memory")) ? "mem" : name, bytes,
               member_number(level, "read_gbytes_per_s"),
               member_number(level, "copy_gbytes_per_s"));
    }
}

/* "2 of L2, 1 MiB ...", one line for each kind of cache. */
static void print_caches(const json_t *caches)
{
    size_t i;
    const json_t *cache;
    json_array_foreach (caches, i, cache) {
        const double kib = member_number(cache, "bytes") / 1024;
        const double sharers = member_number(cache, "shared_by_threads");
        report_wrapped(LINE_INDENT,
                       "%-22s %.0f of L%.0f, %g %s, %.0f ways, %.0f-byte lines, %.0f thread%s each",
                       i ? "" : "caches", member_number(cache, "count"),
                       member_number(cache, "level"), kib < 1024 ? kib : kib / 1024,
                       kib < 1024 ? "KiB" : "MiB", member_number(cache, "ways"),
                       member_number(cache, "line_bytes"), sharers, sharers == 1 ? "" : "s");
    }
}

/* "4 on CPUs 4-7: LinuxCapacity 1024", a line each, the fastest first. */
static void print_core_kinds(const json_t *kinds)
{
    size_t i;
    const json_t *kind;
    json_array_foreach (kinds, i, kind) {
        const char *name, *separator = ": ";
        json_t *fact;
        printf("%-22s %.0f on CPUs %s", i ? "" : "core_kinds", member_number(kind, "cores"),
               member_text(kind, "cpus"));
        json_object_foreach (json_object_get(kind, "facts"), name, fact) {
            printf("%s%s %s", separator, name, json_string_value(fact));
            separator = ", ";
        }
        printf("%s\n", i ? "" : " (threads go here first)");
    }
}

/* "avx, avx2, ...", wrapped to the terminal. */
static void print_words(const char *key, const json_t *words)
{
    char line[4000] = "";
    size_t i;
    const json_t *word;
    json_array_foreach (words, i, word)
        message_add(line, sizeof line, "%s %s", i ? "," : "", json_string_value(word));
    report_wrapped(LINE_INDENT, "%-22s%s", key, line);
}

static void print_value(const char *key, const json_t *value)
{
    printf("%-22s ", key);
    if (json_is_null(value))
        printf("unknown");
    else if (json_is_string(value))
        printf("%s", json_string_value(value));
    else if (json_is_number(value))
        printf("%.15g", json_number_value(value));
    else
        printf("%s", json_is_true(value) ? "yes" : "no");
    printf("\n");
}

/* One line for each entry, in the order of --json. */
static void print_description(const json_t *description)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)description, key, value)
        if (strcmp(key, "caches") == 0)
            print_caches(value);
        else if (strcmp(key, "core_kinds") == 0)
            print_core_kinds(value);
        else if (json_is_array(value))
            print_words(key, value);
        else
            print_value(key, value);
}

static void print_text(const json_t *all)
{
    size_t i;
    json_t *at;
    print_description(json_object_get(all, "machine"));
    json_array_foreach (json_object_get(all, "ceilings"), i, at) {
        const double threads = member_number(at, "threads");
        printf("\nceilings, %.0f thread%s (GFLOP/s, 1e9 exp/s, GB/s)\n", threads,
               threads == 1 ? "" : "s");
        print_arithmetic(at);
        print_bandwidth(at);
    }
}

int machine_command(const struct options *options)
{
    char message[CELL_WHY] = "";
    struct machine *machine = machine_open(NULL, MESSAGE(message));
    json_t *all =
        machine ? json_pack("{s:o, s:[]}", "machine", machine_describe(machine), "ceilings") : NULL;
    const int cores = machine ? machine_cores(machine) : 0;
    bool measured = machine;
    report_open(false);
    process_catch_interrupts();
    for (int threads = 1; measured && threads <= cores;
         threads = threads < cores ? cores : cores + 1) {
        json_t *at = ceilings_at(threads, MESSAGE(message));
        measured = at;
        json_array_append_new(json_object_get(all, "ceilings"), at ? at : json_null());
    }
    process_end_with_reader();
    if (all && options->json) {
        json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        putchar('\n');
    } else if (all) {
        print_text(all);
    }
    if (machine)
        machine_close(machine);
    json_decref(all);
    if (!measured)
        progress_say("%s", message);
    return measured ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
}
