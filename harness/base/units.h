/*
 * units: numbers as people read them.  Every text is at most UNITS_TEXT bytes.
 */
#pragma once

#define UNITS_TEXT 32

/* Four digits and a unit: "12.34 ms", "1.073 GFLOP", "512.0 KB" (powers of 1000); "" for NaN. */
void units_seconds(double s, char text[UNITS_TEXT]);
void units_bytes(double bytes, char text[UNITS_TEXT]);
void units_flops(double flops, char text[UNITS_TEXT]);

/* A time with as many digits as its 95 % interval supports, two to four; no digit before the point is
 * dropped. `half` is the interval's half-width over the time, NaN where there is none. */
void units_seconds_known(double s, double half, char text[UNITS_TEXT]);

/* Three digits: "0.412", "93.1", "1204"; "" for NaN. */
void units_number(double x, char text[UNITS_TEXT]);

/* A rough duration: "45 s", "12 min", "2.5 h" */
void units_span(double s, char text[UNITS_TEXT]);

/* "1:05", "2:03:00" */
void units_clock(double s, char text[UNITS_TEXT]);
