/*
 * host: attnbench with kernels of its own, as the command-line tests need them.
 */
#include "broken.h"
#include "catalogue.h"
#include "program.h"

int main(int argc, char **argv)
{
    catalogue_add(broken_kernels, broken_count);
    return program_main(argc, argv);
}
