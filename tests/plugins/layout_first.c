/*
 * layout_first: the list of layout.c as of the first header.
 */
#define FIRST
#include "layout.c"
