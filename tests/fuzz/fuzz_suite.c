/* A suite file, and the text of one case: refused with a printable message, or cases with printable names
 * that can be selected. */
#include <stdlib.h>

#include "fuzz.h"
#include "problem/cases.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char message[512] = "", *text = fuzz_text(bytes, size);
    struct case_list list = {0};
    if (!cases_load(&list, fuzz_file(bytes, size), MESSAGE(message)))
        require_message(MESSAGE(message));
    if (!cases_add_problem(&list, text, MESSAGE(message)))
        require_message(MESSAGE(message));
    for (size_t i = 0; i < list.count; i++) {
        require_message(MESSAGE(list.items[i].name));
        require(cases_find(&list, list.items[i].name) == i, "a case is found by its name");
    }
    if (!cases_select(&list, text, MESSAGE(message)))
        require_message(MESSAGE(message));
    cases_free(&list);
    free(text);
    return 0;
}
