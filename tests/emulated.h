/*
 * emulated: tests of what qemu-user does otherwise than the system.
 *
 * Included after cmocka.h.
 */
#pragma once

/* Skips a test under an emulator; `what` ends the sentence "the emulator ...". */
static inline void unless_emulated(const char *what)
{
#ifdef EMULATED
    print_message("skipped: the emulator %s\n", what);
    skip();
#else
    (void)what;
#endif
}
