/*
 * man: the pages of help as manual pages, in the macros of man(7).
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "base/build.h"

#define WIDTH 78 /* columns of the roff source */

/* ---- text ------------------------------------------------------------------------------------ */

static void put(char c)
{
    if (c == '-' || c == '\\')
        printf(c == '-' ? "\\-" : "\\e");
    else
        putchar(c);
}

/* Words, wrapped; an empty line begins a paragraph. */
static void put_text(const char *text)
{
    size_t column = 0;
    while (*text) {
        const size_t length = strcspn(text, " \n"), breaks = strspn(text + length, " \n");
        const bool paragraph = length + breaks > 1 && strncmp(text + length, "\n\n", 2) == 0;
        if (column && column + length + 1 > WIDTH) {
            putchar('\n');
            column = 0;
        } else if (column) {
            putchar(' ');
        }
        if (!column && (*text == '.' || *text == '\''))
            printf("\\&");
        for (size_t i = 0; i < length; i++)
            put(text[i]);
        column += length + 1;
        text += length + breaks;
        if (paragraph && *text) {
            printf("\n.PP\n");
            column = 0;
        }
    }
    putchar('\n');
}

static void put_section(const char *title)
{
    printf(".SH %s\n", title);
}

/* An entry of a list: the name in bold, its argument in italics. */
static void put_entry(const char *name, const char *value, const char *text)
{
    printf(".TP\n\\fB");
    for (; *name; name++)
        put(*name);
    printf("\\fR%s", value ? " \\fI" : "");
    for (; value && *value; value++)
        put(*value);
    printf("%s\n", value ? "\\fR" : "");
    put_text(text);
}

static void put_begin(const char *command, const char *summary, const char *usage)
{
    char page[64] = "attnbench";
    snprintf(page, sizeof page, "attnbench%s%s", *command ? "-" : "", command);
    printf(".TH \"%s\" 1 \"\" \"attnbench %s\" \"attnbench\"\n", page, build_version());
    put_section("NAME");
    printf("%s \\- ", page);
    put_text(summary);
    put_section("SYNOPSIS");
    printf(".B attnbench%s%s\n", *command ? " " : "", command);
    put_text(usage);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void put_options(enum command command)
{
    const struct option *o;
    put_section("OPTIONS");
    for (size_t i = 0; (o = options_of(command, NULL, i)); i++) {
        char name[64], text[512];
        snprintf(name, sizeof name, "--%s", o->name);
        snprintf(text, sizeof text, "%s%s%s%s", o->help, o->standard ? " (default: " : "",
                 o->standard ? o->standard : "", o->standard ? ")" : "");
        put_entry(name, o->form, text);
    }
}

static void put_see_also(enum command but)
{
    put_section("SEE ALSO");
    printf(".BR attnbench (1)");
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (i != (int)but)
            printf(",\n.BR attnbench\\-%s (1)", options_commands[i].name);
    putchar('\n');
}

static void put_program(void)
{
    put_begin("", "check and time attention kernels on CPUs", "COMMAND [OPTION]...");
    put_section("COMMANDS");
    for (int i = 0; i < COMMAND_COUNT; i++)
        put_entry(options_commands[i].name, NULL, options_commands[i].summary);
    put_section("ENVIRONMENT");
    put_entry("ATTN_ISA_MASK", NULL, OPTIONS_ISA_MASK);
    put_see_also(COMMAND_COUNT);
}

static void put_command(enum command command)
{
    const struct options_command *c = &options_commands[command];
    struct named subject;
    put_begin(c->name, c->summary, c->usage);
    if (*c->more) {
        put_section("DESCRIPTION");
        put_text(c->more);
    }
    if (subject_at(command, 0, &subject))
        put_section("SUBJECTS");
    for (size_t i = 0; subject_at(command, i, &subject); i++)
        put_entry(subject.name, NULL, subject.summary);
    put_options(command);
    put_see_also(command);
}

int man_print(const struct options *options)
{
    enum command command;
    if (!options->subject)
        put_program();
    else if (options_command(options->subject, &command))
        put_command(command);
    else
        return subject_unknown(COMMAND_COUNT, options->subject, "--man takes a command: ");
    return EXIT_AS_ASKED;
}
