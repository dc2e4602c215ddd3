/*
 * padding: stands in front of the kernels in a module, so that their code begins further on.
 *
 * Linkers keep the order of objects within a section and align each to what it asks for, 16 bytes
 * here: where an object lies within a cache line, a page and the branch predictor's tables depends
 * on the sizes of those before it.
 */
#define TEXT(x) #x
#define SKIP(bytes) ".pushsection .text\n.balign 16\n.skip " TEXT(bytes) "\n.popsection\n"

#if LAYOUT_BYTES
__asm__(SKIP(LAYOUT_BYTES));
#endif
