/*
 * clock: the only file that reads clocks.
 */
#pragma once

/* Monotonic time in seconds since an arbitrary start. */
double clock_now(void);

/* Smallest step that clock_now() shows, seconds, measured. */
double clock_resolution(void);

/* UTC now as "2026-01-31T23:59:59Z". */
void clock_utc(char text[32]);
