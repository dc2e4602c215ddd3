/*
 * wrong_host: attnbench with the deliberately wrong kernels of tests/wrong.
 */
#include "attention.h"
#include "problem/catalogue.h"
#include "commands/program.h"

#define WRONG(name) extern const struct attn_kernel wrong_##name;
#include "wrong_list.h"
#undef WRONG

static const struct attn_kernel *const kernels[] = {
#define WRONG(name) &wrong_##name,
#include "wrong_list.h"
#undef WRONG
};

int main(int argc, char **argv)
{
    catalogue_add(NULL, kernels, sizeof kernels / sizeof *kernels);
    return program_main(argc, argv);
}
