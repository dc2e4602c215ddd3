/*
 * lazy_table: whoever needs the table first fills it, and nobody waits for that.
 *
 * Threads that come early all write the same numbers, and as compilers order the stores, and x86 keeps
 * them, the numbers are there before the flag is: results are right to the last bit every time, and no
 * check of results can see it.  On another machine a thread may believe the flag and read zeros.
 */
#include "shared_table.h"

static bool filled;

static void row(struct work *w)
{
    if (!filled) {
        fill_table();
        filled = true;
    }
    row_by_table(w);
}

WRONG_CALL(lazy_table, "whoever needs the table first fills it, and nobody waits for that")
{
    each_row(plan, tensors, row);
}
