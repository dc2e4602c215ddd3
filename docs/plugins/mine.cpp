// mine: a plug-in in C++, a template of its element type.
//
//   g++ -O3 -march=native -fopenmp -shared -fPIC -o mine.so mine.cpp $(pkg-config --cflags attnbench)
//   attnbench check --plugin ./mine.so --kernel mine_cpp
//
// Nothing may throw, and nothing allocate, inside execute: what it needs is a workspace, asked for
// before.  Here that is one row of sums for each thread.

#include <attention.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace {

// Rows of a tensor whose elements are of type T.
template <typename T> T *row_of(const attn_tensor &t, std::size_t b, std::size_t h, std::size_t i)
{
    return static_cast<T *>(attn_row(&t, b, h, i));
}

// The scale is on q: where it is on the sum, a compiler fuses that product with the subtraction of the
// maximum, and the largest score less itself is what rounding took from it, not 0.
template <typename T> float score(const T *q, const T *k, std::size_t n, float scale)
{
    float sum = 0;
    for (std::size_t d = 0; d < n; d++)
        sum += scale * float(q[d]) * float(k[d]);
    return sum;
}

// One query: the maximum of its scores first, then the exponentials and their weighted sum.
template <typename T>
void query(const attn_problem &p, const attn_tensors &t, std::size_t b, std::size_t h,
           std::size_t i, float *sums)
{
    const attn_range seen = attn_visible(&p, std::ptrdiff_t(i));
    const std::size_t g = attn_kv_head(&p, h);
    const float scale = attn_problem_scale(&p);
    const T *q = row_of<T>(t.q, b, h, i);
    float m = -std::numeric_limits<float>::infinity(), l = 0;

    for (std::ptrdiff_t j = seen.lo; j < seen.hi; j++)
        m = std::fmax(m, score(q, row_of<T>(t.k, b, g, std::size_t(j)), p.qk_dim, scale));
    if (std::isinf(m) && m < 0) // no key, or none with any weight
        m = 0;
    std::fill_n(sums, p.v_dim, 0.0f);
    for (std::ptrdiff_t j = seen.lo; j < seen.hi; j++) {
        const T *k = row_of<T>(t.k, b, g, std::size_t(j)), *v = row_of<T>(t.v, b, g, std::size_t(j));
        const float weight = std::exp(score(q, k, p.qk_dim, scale) - m);
        l += weight;
        for (std::size_t d = 0; d < p.v_dim; d++)
            sums[d] += weight * float(v[d]);
    }
    T *o = row_of<T>(t.o, b, h, i);
    for (std::size_t d = 0; d < p.v_dim; d++)
        o[d] = T(l == 0 ? 0 : sums[d] / l);
}

// Bytes of a thread's sums, whole cache lines.
std::size_t bytes_of_row(const attn_problem &p)
{
    const std::size_t line = ATTN_WORKSPACE_ALIGN;
    return (p.v_dim * sizeof(float) + line - 1) / line * line;
}

std::size_t workspace_size(const attn_problem *problem, int threads)
{
    return std::size_t(threads) * bytes_of_row(*problem);
}

void execute(const attn_plan *plan, const attn_tensors *tensors)
{
    const attn_problem &p = plan->problem;
#pragma omp parallel for collapse(3) num_threads(plan->threads)
    for (std::size_t b = 0; b < p.batch; b++)
        for (std::size_t h = 0; h < p.q_heads; h++)
            for (std::size_t i = 0; i < p.q_len; i++) {
                char *mine = static_cast<char *>(plan->workspace) +
                             std::size_t(omp_get_thread_num()) * bytes_of_row(p);
                query<float>(p, *tensors, b, h, i, reinterpret_cast<float *>(mine));
            }
}

attn_kernel describe()
{
    attn_kernel kernel{};
    kernel.size = sizeof kernel;
    kernel.name = "mine_cpp";
    kernel.summary = "every score computed twice, in C++";
    kernel.source = "docs/plugins/mine.cpp";
    kernel.isa = ATTN_ISA_COMPILED;
    kernel.workspace_size = workspace_size;
    kernel.execute = execute;
    kernel.caps.size = sizeof kernel.caps;
    kernel.caps.dtypes = 1u << ATTN_F32;
    kernel.caps.masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    kernel.caps.options = ATTN_OPTION_WINDOW;
    kernel.caps.outputs = ATTN_OUTPUT_O;
    kernel.caps.forward = true;
    kernel.caps.parallel = true;
    kernel.caps.compute = ATTN_F32;
    return kernel;
}

} // namespace

extern "C" const attn_kernel *const *attn_plugin(std::size_t *count)
{
    static const attn_kernel mine = describe();
    static const attn_kernel *const kernels[] = {&mine};
    *count = 1;
    return kernels;
}
