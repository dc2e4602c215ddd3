/*
 * probe_memory: loops that read and copy memory; for probe.c only.
 */
static inline vi load(const char *p)
{
    return *(const vi *)p;
}

/* Prefetches a line of each page of `bytes` bytes, so that page-table walks overlap. */
static inline void touch_pages(const char *p, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096)
        __builtin_prefetch(p + at, 0, 2);
}

/* Prefetches `ahead` bytes ahead, beyond the end of a 4 KiB page, where hardware prefetchers stop; and every
 * `touched` bytes touches the pages of the next so many bytes.  0: not. */
static inline double read_streams(const char *a, const char *b, size_t n, size_t ahead,
                                  size_t touched, uint32_t *sink)
{
    enum { STEP = 256, LINE = 64 }; /* with longer lines some prefetches are redundant */
    vi sa[4] = {{0}}, sb[4] = {{0}};
    for (size_t at = 0; at < n; at += STEP) {
        if (touched && at % touched == 0) {
            touch_pages(a + at + touched, touched);
            touch_pages(b + at + touched, touched);
        }
#pragma GCC unroll 4
        for (int line = 0; ahead > 0 && line < STEP; line += LINE) {
            __builtin_prefetch(a + at + ahead + line);
            __builtin_prefetch(b + at + ahead + line);
        }
#pragma GCC unroll 16
        for (int i = 0; i < STEP / BYTES; i++) {
            sa[i % 4] ^= load(a + at + i * BYTES);
            sb[i % 4] ^= load(b + at + i * BYTES);
        }
    }
    const vi all = sa[0] ^ sa[1] ^ sa[2] ^ sa[3] ^ sb[0] ^ sb[1] ^ sb[2] ^ sb[3];
    uint32_t x = 0;
    for (int lane = 0; lane < LANES; lane++)
        x ^= (uint32_t)all[lane];
    *sink = x;
    return 2.0 * (double)n;
}

static double read_plain(const void *a, const void *b, size_t n, uint32_t *sink)
{
    return read_streams(a, b, n, 0, 0, sink);
}

static double read_ahead(const void *a, const void *b, size_t n, uint32_t *sink)
{
    return read_streams(a, b, n, 8192, 0, sink);
}

static double read_touched(const void *a, const void *b, size_t n, uint32_t *sink)
{
    return read_streams(a, b, n, 0, 65536, sink);
}

static double copy(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    for (size_t at = 0; at < n; at += 4 * BYTES)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            *(vi *)(t + at + i * BYTES) = load(f + at + i * BYTES);
    return 2.0 * (double)n;
}

/* Avoids the read for ownership that an ordinary store costs on x86; Arm's cores omit it in long runs of
 * stores (write streaming, in their Technical Reference Manuals). */
static inline void store_past_cache(char *p, vi x)
{
#if defined __AVX512F__
    _mm512_stream_si512((__m512i *)p, (__m512i)x);
#elif defined __AVX__
    _mm256_stream_si256((__m256i *)p, (__m256i)x);
#elif defined __x86_64__
    _mm_stream_si128((__m128i *)p, (__m128i)x);
#else
    *(vi *)p = x;
#endif
}

static double stream(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    for (size_t at = 0; at < n; at += 4 * BYTES)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            store_past_cache(t + at + i * BYTES, load(f + at + i * BYTES));
#if defined __x86_64__
    _mm_sfence();
#endif
    return 2.0 * (double)n;
}
