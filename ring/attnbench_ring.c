/*
 * attnbench-ring: exact attention over ranks, as a program that attnbench measures (docs/protocol.md).
 *
 *     attnbench run --plugin 'attnbench-ring --ranks 2 [--hostfile FILE]' --kernel ring_2
 *
 * This process describes the kernels, and for any other request has mpiexec start the ranks: this program
 * again, with --rank (rank_serve.h).  From then on it forwards requests to rank 0, and rank 0's answers to
 * attnbench.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem/capabilities.h"
#include "rank_serve.h"
#include "system/memory_file.h"
#include "system/process.h"

#define MOST 4096    /* ranks */
#define CPUS 1024    /* of this host */
#define PATIENCE 1e9 /* seconds: attnbench has its own deadlines */

static struct {
    int ranks;
    char hostfile[4096];     /* absolute; "": all ranks run here */
    const char *unavailable; /* what is missing; NULL: nothing */
    struct process *mpiexec; /* its streams are rank 0's; NULL: not started */
} self = {.ranks = 2};

/* ---- describe -------------------------------------------------------------------------------- */

/* Whether flash and split_kv, which compute the blocks, both have variants of the ISA for f32 or bf16 and any
 * number of rows; those for matrix units do not. */
static bool has_blocks(enum attn_isa isa)
{
    const struct attn_kernel *flash = attn_find("flash", isa),
                             *split_kv = attn_find("split_kv", isa);
    struct attn_problem one;
    const char *why;
    attn_problem_init(&one); /* one query */
    one.dtype = one.kv_dtype = flash && flash->caps.dtypes & 1u << ATTN_F32 ? ATTN_F32 : ATTN_BF16;
    return flash && split_kv && attn_supports(split_kv, &one, &why) && flash->isa == isa &&
           split_kv->isa == isa && flash->caps.dtypes & (1u << ATTN_F32 | 1u << ATTN_BF16) &&
           attn_isa_available(isa);
}

static json_t *kernels(void)
{
    char name[32];
    json_t *list = json_array();
    snprintf(name, sizeof name, "ring_%d", self.ranks);
    for (int i = 0; i < ATTN_ISA_COUNT; i++) {
        const enum attn_isa isa = (enum attn_isa)i;
        if (!has_blocks(isa))
            continue;
        const struct attn_kernel *flash = attn_find("flash", isa);
        const struct attn_caps caps = {
            .dtypes = flash->caps.dtypes & (1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16),
            .masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT,
            .options = ATTN_OPTION_SOFTCAP,
            .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
            .forward = true,
            .parallel = true,
            .compute = flash->caps.compute,
        };
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "name", name, "isa", attn_isa_name(isa),
                      "summary",
                      "flash over ranks (MPI): K and V travel while it computes, merged by LSE",
                      "source", "Liu, Zaharia and Abbeel 2023, Ring Attention, arXiv:2310.01889",
                      "ceilings", 1, "caps", capabilities_json(&caps)));
    }
    return list;
}

static json_t *describe(void)
{
    if (self.unavailable)
        return json_pack("{s:i, s:s, s:s}", "protocol", 1, "state", "unavailable", "why",
                         self.unavailable);
    return json_pack("{s:i, s:s, s:n, s:o}", "protocol", 1, "state", "ok", "why", "kernels",
                     kernels());
}

/* ---- starting ranks -------------------------------------------------------------------------- */

/* Environment of mpiexec and the ranks, instead of mpiexec's options, which differ between MPIs: Open MPI and
 * MPICH ignore each other's variables.  Ranks bind their own threads, may be more than the cores, and root
 * may start them, as it may start workers. */
struct environment {
    char hosts[2][4200];
    const char *variables[24];
};

static bool is_set(const char *variable)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(variable, "="), variable);
    return getenv(name);
}

static void environment_init(struct environment *e)
{
    static const char *const fixed[] = {
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_hwloc_base_binding_policy=none",
        "OMP_PLACES", /* unset: those of this process */
    };
    /* Unless the user sets these: spread ranks over the hosts, which Open MPI would fill one after the other,
     * with neighbours in the ring on the same host. */
    static const char *const dealt[] = {
        "OMPI_MCA_rmaps_base_mapping_policy=node",
        "OMPI_MCA_rmaps_base_ranking_policy=slot",
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        e->variables[n++] = fixed[i];
    for (size_t i = 0; i < sizeof dealt / sizeof *dealt; i++)
        if (!is_set(dealt[i]))
            e->variables[n++] = dealt[i];
    for (size_t i = 0; i < PROCESS_OPENMP; i++)
        e->variables[n++] = process_openmp[i];
    if (*self.hostfile) {
        snprintf(e->hosts[0], sizeof e->hosts[0], "OMPI_MCA_orte_default_hostfile=%s",
                 self.hostfile);
        snprintf(e->hosts[1], sizeof e->hosts[1], "HYDRA_HOST_FILE=%s", self.hostfile);
        e->variables[n++] = e->hosts[0];
        e->variables[n++] = e->hosts[1];
    }
    e->variables[n] = NULL;
}

/* Ends this program, and with it the cell; the last line printed is the reason. */
static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "mpiexec with %d rank%s%s%s %s\n", self.ranks, self.ranks > 1 ? "s" : "",
            *self.hostfile ? " on the hosts of " : "", self.hostfile, why);
    process_close(self.mpiexec);
    exit(3);
}

/* Starts the ranks for a request to prepare, whose CPUs are theirs on this host. */
static void start(const json_t *request)
{
    struct environment environment = {.variables = {NULL}};
    char program[4096] = "", count[16];
    int cpus[CPUS];
    const json_t *list = json_object_get(request, "cpus");
    const size_t cpu_count = json_array_size(list);
    const bool bound =
        (json_int_t)cpu_count <= json_integer_value(json_object_get(request, "threads"));
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0 || cpu_count > CPUS)
        give_up("cannot be told which program to start on which CPUs");
    for (size_t i = 0; i < cpu_count; i++)
        cpus[i] = (int)json_integer_value(json_array_get(list, i));
    snprintf(count, sizeof count, "%d", self.ranks);
    const char *const arguments[] = {"-n", count, program, "--rank", bound ? "bound" : "free",
                                     NULL};
    environment_init(&environment);
    const struct process_spec spec = {.program = ATTNBENCH_MPIEXEC,
                                      .arguments = arguments,
                                      .launcher = true,
                                      .environment = environment.variables,
                                      .cpus = cpus,
                                      .cpu_count = cpu_count};
    if (!(self.mpiexec = process_open(&spec)))
        give_up("cannot be started: out of memory");
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Adds the location of the file of tensors, which only this process has inherited, to a request. */
static void add_file(json_t *request)
{
    struct memory_file file = {0};
    const int fd = (int)json_integer_value(json_object_get(request, "file"));
    if (memory_file_locate(fd, &file))
        json_object_set_new(request, "memory",
                            json_pack("[I, I, I, I, I]", (json_int_t)file.pid, (json_int_t)file.fd,
                                      (json_int_t)file.device, (json_int_t)file.inode,
                                      (json_int_t)file.bytes));
}

/* A refusal if the ranks, all on this host, cannot share the threads, without starting them; NULL: they
 * can. */
static const char *refusal(const json_t *request)
{
    static char line[160];
    const json_int_t threads = json_integer_value(json_object_get(request, "threads"));
    if (*self.hostfile || threads % self.ranks == 0)
        return NULL;
    snprintf(
        line, sizeof line,
        "{\"protocol\":1,\"state\":\"unsupported\",\"why\":\"%d ranks cannot share %d thread%s "
        "evenly\"}",
        self.ranks, (int)threads, threads > 1 ? "s" : "");
    return line;
}

/* Forwards a request; returns the ranks' answer, one line. */
static const char *relay(json_t *request, const char *action)
{
    const char *line;
    char why[512];
    if (strcmp(action, "prepare") == 0) {
        if ((line = refusal(request)))
            return line;
        add_file(request);
        if (!self.mpiexec)
            start(request);
    }
    if (!self.mpiexec)
        return "{\"protocol\":1,\"state\":\"ok\",\"why\":null}"; /* no ranks to release it */
    char *text = json_dumps(request, JSON_COMPACT);
    if (!text || process_ask(self.mpiexec, text, PATIENCE, &line, MESSAGE(why)) != PROCESS_ANSWERED)
        give_up(text ? why : "ran out of memory");
    free(text);
    return line;
}

static void serve(FILE *requests, FILE *answers)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, requests) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        const char *action = json_string_value(json_object_get(request, "action"));
        if (action && strcmp(action, "describe") == 0) {
            json_t *answer = describe();
            json_dumpf(answer, answers, JSON_COMPACT);
            json_decref(answer);
        } else {
            fputs(relay(request, action ? action : ""), answers);
        }
        fputc('\n', answers);
        (void)fflush(answers); /* if nobody reads, no further request comes */
        json_decref(request);
    }
    free(line);
    process_close(self.mpiexec);
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--ranks") == 0) {
            char *end;
            const long n = strtol(argv[i + 1], &end, 10);
            if (end == argv[i + 1] || *end || n < 1 || n > MOST)
                self.unavailable = "--ranks takes a number from 1 to 4096";
            self.ranks = (int)n;
        } else if (i + 1 < argc && strcmp(argv[i], "--hostfile") == 0) {
            if (!realpath(argv[i + 1], self.hostfile) || access(self.hostfile, R_OK) != 0)
                self.unavailable = "the file of --hostfile cannot be read";
        } else {
            return false;
        }
    }
    if (access(ATTNBENCH_MPIEXEC, X_OK) != 0)
        self.unavailable = ATTNBENCH_MPIEXEC ", which starts ranks, is not there";
    return true;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--rank") == 0)
        return rank_serve(strcmp(argv[2], "bound") == 0);
    const bool right = read_options(argc, argv);
    FILE *requests = right ? fdopen(PROCESS_REQUEST_FD, "r") : NULL;
    FILE *answers = right ? fdopen(PROCESS_ANSWER_FD, "w") : NULL;
    if (!requests || !answers) {
        fprintf(stderr,
                "attnbench-ring is a program for attnbench (docs/ring.md):\n"
                "    attnbench run --plugin 'attnbench-ring --ranks N [--hostfile FILE]'\n");
        return 2;
    }
    serve(requests, answers);
    return 0;
}
