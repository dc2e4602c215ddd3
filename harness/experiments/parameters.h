/*
 * parameters: the options of an experiment's own, by another name.
 */
#ifndef HARNESS_EXPERIMENTS_PARAMETERS_H
#define HARNESS_EXPERIMENTS_PARAMETERS_H

#include "session/options.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* rows of fewer fields */

#define parameter option
#define PARAMETER_COUNT OPTION_COUNT
#define PARAMETER_COUNTS OPTION_COUNTS
#define PARAMETER_NUMBERS OPTION_NUMBERS
#define PARAMETER_WORDS OPTION_WORDS
#define PARAMETER_WORD OPTION_WORD
#define PARAMETER_TEXT OPTION_TEXT

#endif
