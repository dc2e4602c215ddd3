/*
 * setting: compares settings, and formats one as options.
 */
#include "setting.h"

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/shell_words.h"

static const char *text_of(const char *environment)
{
    return environment ? environment : "";
}

bool setting_equal(const struct setting *a, const struct setting *b)
{
    return a->placement == b->placement && a->memory == b->memory &&
           a->huge_pages == b->huge_pages && a->cold == b->cold &&
           strcmp(text_of(a->environment), text_of(b->environment)) == 0;
}

const char *setting_variable(const char *const *variables, const char *name)
{
    const size_t n = strcspn(name, "=");
    for (; variables && *variables; variables++)
        if (strncmp(*variables, name, n) == 0 && (*variables)[n] == '=')
            return *variables + n + 1;
    return NULL;
}

void setting_text(const struct setting *setting, char text[SETTING_TEXT])
{
    char quoted[4 * SETTING_ENVIRONMENT + 16];
    snprintf(text, SETTING_TEXT, "--placement %s", machine_placements[setting->placement]);
    if (setting->memory != MEMORY_FIRST_TOUCH)
        message_add(text, SETTING_TEXT, " --memory %s", machine_memories[setting->memory]);
    message_add(text, SETTING_TEXT, "%s%s", setting->huge_pages ? " --huge-pages" : "",
                setting->cold ? " --cold" : "");
    if (!*text_of(setting->environment))
        return;
    shell_words_quote(setting->environment, quoted, sizeof quoted);
    message_add(text, SETTING_TEXT, " --environment %s", quoted);
}
