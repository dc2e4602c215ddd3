/* A results file to go on with: refused with a printable message, or options, rows and launches that can be
 * looked up and summed up. */
#include <string.h>

#include "base/printable.h"
#include "fuzz.h"
#include "results/row.h"
#include "results/report.h"
#include "session/resume.h"

/* Cells of the problem that the seeds have, as session_plan() would make them. */
static void resume(const struct journal *journal)
{
    char message[512] = "";
    struct case_list cases = {0};
    require(cases_add_problem(&cases, "h=1,s=8,d=4", MESSAGE(message)), "the seeds' case");
    struct cell cells[2];
    static const char *const kernels[] = {"naive", "online"};
    for (size_t i = 0; i < 2; i++) {
        cell_init(&cells[i], &cases.items[0], kernels[i], ATTN_ISA_AVX512);
        cells[i].setting.placement = PLACEMENT_CORES;
    }
    struct session session = {.cells = cells, .cell_count = 2};
    resume_cells(journal, &session);
    for (size_t i = 0; i < 2; i++) {
        char line[1024];
        if (!cells[i].done)
            cell_end(&cells[i], CELL_OK, "%s", "");
        if (cells[i].row || row_finish(&cells[i], "run", 1))
            report_line(&cells[i], line, sizeof line);
        cell_free(&cells[i]);
    }
    cases_free(&cases);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char message[1024] = "";
    struct journal *journal = journal_resume(fuzz_file(bytes, size), MESSAGE(message));
    if (!journal) {
        require_message(MESSAGE(message));
        return 0;
    }
    struct options options = {.command = COMMAND_RUN, .resume = "results.jsonl"};
    json_t *command = NULL;
    if (!resume_options(journal, &options, &command, MESSAGE(message))) {
        char line[sizeof message];
        printable_line(message, line, sizeof line);
        require(*message && strcmp(line, message) == 0, "a message is a line fit for a terminal");
    }
    resume(journal);
    json_decref(command);
    journal_close(journal);
    return 0;
}
