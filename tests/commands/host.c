/*
 * host: attnbench with kernels of its own and with short launches, as the command-line tests need them.
 */
#include "broken.h"
#include "problem/catalogue.h"
#include "commands/program.h"
#include "session/protocol.h"

#define LAUNCH_S 0.01 /* the least that `attnbench run --seconds` gives a launch */

/* The linker puts the first in the place of the second: all launches of a session, in half of the time. */
char *__wrap_protocol_print(const struct protocol_request *request);
char *__real_protocol_print(const struct protocol_request *request);

char *__wrap_protocol_print(const struct protocol_request *request)
{
    struct protocol_request shorter = *request;
    if (shorter.budget_s > LAUNCH_S) {
        shorter.budget_s = LAUNCH_S;
        shorter.warmup_s = LAUNCH_S / 4;
    }
    return __real_protocol_print(&shorter);
}

int main(int argc, char **argv)
{
    catalogue_add(NULL, broken_kernels, broken_count);
    return program_main(argc, argv);
}
