/* The text of a problem: refused with a printable message that points into it, or valid and unchanged by
 * printing and reading again. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "problem/same_problem.h"
#include "problem/parse.h"

static void read_problem(const char *text)
{
    struct attn_problem problem, again;
    struct parse_error error = {.position = SIZE_MAX};
    char once[PARSE_TEXT], twice[PARSE_TEXT];
    const char *why;
    if (!parse_problem(text, &problem, &error)) {
        require_message(MESSAGE(error.message));
        require(error.position <= strlen(text), "a position lies in the text");
        return;
    }
    fuzz_accepted++;
    require(attn_problem_valid(&problem, &why), "an accepted problem is valid");
    parse_print_problem(&problem, once);
    require(parse_problem(once, &again, &error), "what is printed is accepted");
    parse_print_problem(&again, twice);
    require(strcmp(once, twice) == 0 && same_problem(&problem, &again),
            "printing and reading changes nothing");
}

static void read_input(const char *text)
{
    struct input input, again;
    struct parse_error error = {.position = SIZE_MAX};
    char once[PARSE_TEXT];
    if (!parse_input(text, &input, &error)) {
        require_message(MESSAGE(error.message));
        require(error.position <= strlen(text), "a position lies in the text");
        return;
    }
    fuzz_accepted++;
    parse_print_input(&input, once);
    require(parse_input(once, &again, &error), "what is printed is accepted");
    json_t *line = json_string(once);
    require(line, "what is printed is UTF-8");
    json_decref(line);
    /* Both begin as one constant, so that their padding is alike.
     * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
    require(memcmp(&input, &again, sizeof input) == 0, "printing and reading changes nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    read_problem(text);
    read_input(text);
    free(text);
    return 0;
}
