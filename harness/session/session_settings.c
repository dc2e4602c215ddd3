/*
 * session_settings: parses a session's settings: one from its own options, or two to compare.
 *
 * The syntax is that of scripts/gate: variables, then options (scripts/attntools/gate/gate_settings.py).
 */
#include <ctype.h>
#include <string.h>

#include "base/message.h"
#include "session.h"

/* The options allowed in a setting, and whether they take a value. */
static const struct {
    const char *name;
    bool takes_value;
} settable[] = {
    {"--placement", true}, {"--memory", true}, {"--huge-pages", false}, {"--cold", false}};
#define SETTABLE (sizeof settable / sizeof *settable)

static bool is_variable(const char *word)
{
    size_t n = 0;
    while (word[n] == '_' || isalpha((unsigned char)word[n]) ||
           (n && isdigit((unsigned char)word[n])))
        n++;
    return n && word[n] == '=';
}

/* Moves the variables to the front, the last one of each name, *kept of them.  Returns how many words were
 * variables. */
static size_t gather_variables(struct shell_words *words, size_t *kept)
{
    size_t taken = 0;
    *kept = 0;
    for (; taken < words->count && is_variable(words->word[taken]); taken++) {
        const char *variable = words->word[taken];
        const size_t length = strcspn(variable, "=") + 1;
        size_t at = 0;
        while (at < *kept && strncmp(words->word[at], variable, length) != 0)
            at++;
        words->word[at] = variable;
        *kept += at == *kept;
    }
    return taken;
}

/* Whether all words are allowed options; message names one that is not. */
static bool are_settable(const char *const *word, size_t count, struct message message)
{
    for (size_t at = 0; at < count; at++) {
        size_t k = 0;
        while (k < SETTABLE && strcmp(settable[k].name, word[at]) != 0)
            k++;
        if (k < SETTABLE) {
            at += settable[k].takes_value;
            continue;
        }
        if (*word[at] != '-' && strchr(word[at], '='))
            return refuse(message, "%.60s follows an option; variables come first", word[at]);
        message_print(message, "%.60s is none of NAME=VALUE", word[at]);
        for (k = 0; k < SETTABLE; k++)
            message_add(message.text, message.size, ", %s", settable[k].name);
        return false;
    }
    return true;
}

/* Parses options on top of the session's own. */
static bool parse_options(const struct options *session, const struct shell_words *words,
                          size_t first, struct setting *setting, struct message message)
{
    struct options own = *session;
    if (!are_settable(words->word + first, words->count - first, message) ||
        !options_apply(&own, (int)(words->count - first), words->word + first, message))
        return false;
    own.setting.name = setting->name;
    *setting = own.setting;
    return true;
}

/* Stores the variables' text, which must be valid UTF-8 for JSON. */
static bool store_variables(struct session_words *from, struct setting *setting,
                            struct message message)
{
    if (!shell_words_join(&from->words, 0, from->environment, sizeof from->environment))
        return refuse(message, "variables of more than %zu bytes", sizeof from->environment - 1);
    json_t *text = json_string(from->environment);
    json_decref(text);
    setting->environment = from->environment;
    setting->variables = from->words.word;
    return text || refuse(message, "variables that are no UTF-8");
}

/* Parses variables, and options on top of the session's own; with session NULL there may be no options. */
static bool read_text(const struct options *session, const char *text, struct session_words *from,
                      struct setting *setting, struct message message)
{
    struct shell_words *words = &from->words;
    size_t kept;
    if (!shell_words_split(text, words))
        return refuse(message, "a quote is not closed, or there are too many words");
    const size_t taken = gather_variables(words, &kept);
    if (!session && taken < words->count)
        return refuse(message, "%.60s is no NAME=VALUE", words->word[taken]);
    if (session && !parse_options(session, words, taken, setting, message))
        return false;
    words->word[kept] = NULL;
    words->count = kept;
    return !kept || store_variables(from, setting, message);
}

/* Parses the text of an option; messages begin with its name. */
static bool read_option(const char *name, const char *text, const struct options *options,
                        struct session_words *from, struct setting *setting, struct message message)
{
    char why[256];
    return !text || read_text(options, text, from, setting, MESSAGE(why)) ||
           refuse(message, "--%s: %s", name, why);
}

bool session_settings_parse(struct session *session, struct message message)
{
    const struct options *o = session->options;
    struct setting *base = &session->settings[0], *new = &session->settings[1];
    *base = o->setting;
    session->setting_count = 1;
    if (!o->base_options && !o->new_options)
        return read_option("environment", o->environment, NULL, &session->words[0], base, message);
    if (o->environment)
        return refuse(message,
                      "--environment is a part of a setting here: say it in --base-options and "
                      "--new-options");
    *new = *base;
    base->name = "base";
    new->name = "new";
    session->setting_count = SESSION_MAX_SETTINGS;
    if (!read_option("base-options", o->base_options, o, &session->words[0], base, message) ||
        !read_option("new-options", o->new_options, o, &session->words[1], new, message))
        return false;
    return !setting_equal(base, new) ||
           refuse(message, "--base-options and --new-options are the same setting");
}
