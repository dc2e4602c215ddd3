/*
 * padding: stands in front of the kernels in a module, so that their code begins further on.
 *
 * Linkers keep the order of objects within a section and align each to what it asks for, 16 bytes
 * where a compiler optimises: where an object lies within a cache line, a page and the branch
 * predictor's tables depends on the sizes of those before it.  The padding begins at 16 bytes also
 * where it is none, so that modules differ by nothing else.
 */
#define TEXT(x) #x
#if LAYOUT_BYTES
#define SKIP(bytes) "\n.skip " TEXT(bytes)
#else
#define SKIP(bytes)
#endif

__asm__(".pushsection .text\n.balign 16" SKIP(LAYOUT_BYTES) "\n.popsection\n");
