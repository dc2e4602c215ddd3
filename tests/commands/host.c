/*
 * host: attnbench with kernels of its own, as the command-line tests need them.
 */
#include "broken.h"
#include "problem/catalogue.h"
#include "commands/program.h"

int main(int argc, char **argv)
{
    catalogue_add(broken_kernels, broken_count);
    return program_main(argc, argv);
}
