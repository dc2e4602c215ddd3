/* A request to a worker: refused, or unchanged by printing and reading again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "session/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct protocol_request request, again;
    char message[256] = "", *text = fuzz_text(bytes, size);
    if (!protocol_parse(text, &request, MESSAGE(message))) {
        require_message(MESSAGE(message));
        free(text);
        return 0;
    }
    require(request.count <= CHECK_COUNTS, "counts have room");
    require(request.threads >= 1 && request.team >= request.threads, "threads");
    char *once = protocol_print(&request);
    if (once) { /* not a text that is no JSON */
        require(protocol_parse(once, &again, MESSAGE(message)), "what is printed is accepted");
        require(strcmp(request.token, again.token) == 0, "the token stays");
        require(strcmp(request.kernel, again.kernel) == 0, "the kernel stays");
    }
    free(once);
    free(text);
    return 0;
}
