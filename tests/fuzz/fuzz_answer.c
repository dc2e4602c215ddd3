/* A worker's answer, as the parent takes it apart: the line, a launch's record from it and the row of that
 * launch; and the capabilities of a guest's kernel. */
#include <stdlib.h>

#include "fuzz.h"
#include "problem/capabilities.h"
#include "results/launches.h"
#include "results/row.h"
#include "results/report.h"
#include "session/protocol.h"

/* A cell that was launched once and got this answer. */
static void finish(json_t *answer)
{
    char line[1024], message[256] = "";
    struct case_list cases = {0};
    require(cases_add_problem(&cases, "h=1,s=8,d=4", MESSAGE(message)), "the case");
    const struct launches_setting setting = {.wall_s = 1};
    struct cell cell;
    cell_init(&cell, &cases.items[0], "naive", ATTN_ISA_BASELINE);
    cell.check = json_incref(json_object_get(answer, "check"));
    json_t *record = launches_record(&cell, answer, &setting);
    launches_noise_of(&cell, record);
    json_array_append_new(cell.launches, record);
    cell_end(&cell, CELL_OK, "%s", "");
    row_finish(&cell, "run", 1);
    report_line(&cell, line, sizeof line);
    cell_free(&cell);
    cases_free(&cases);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char message[256] = "", key[64], *text = fuzz_text(bytes, size);
    json_t *answer = protocol_answer(text, "token", MESSAGE(message));
    if (!answer)
        require_message(MESSAGE(message));
    struct attn_caps caps;
    capabilities_parse(json_object_get(answer, "caps"), &caps, MESSAGE(key));
    if (answer)
        finish(answer);
    json_decref(answer);
    free(text);
    return 0;
}
