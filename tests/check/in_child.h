/*
 * in_child: checks of kernels that may crash, each in a process of its own.
 */
#pragma once

#include "check/check.h"

#define THREADS 2

/* Problems that several tests use. */
#define PLAIN "hq=4,hkv=2,sq=38,skv=69,d=24,dv=17"
#define MORE_KEYS "hq=4,hkv=2,sq=70,skv=333,d=24,dv=17" /* for what few keys do not show */
#define CAUSAL "hq=4,hkv=2,s=100,d=24,dv=17,mask=causal"

/* What a child leaves behind. */
struct verdict {
    struct check_result result, results[2];
    char progress[1024];
    int calls; /* of the kernel, where it counts them */
    bool finished;
};
extern struct verdict *verdict;

/* Shares the verdict with children: a group's setup. */
int share_verdict(void **state);

/* Runs something in a child that may crash; the verdict says how it went. */
void in_child(void (*run)(const void *), const void *argument);

struct order {
    const struct attn_kernel *kernel;
    const char *problem, *input;
    enum check_depth depth;
};

/* For in_child(): a check of a struct order, on THREADS threads, or on 1 and on THREADS. */
void check_one(const void *order);
void check_both(const void *order);

/* A kernel that must be caught: in which phase, and what the message must contain. */
struct catch
{
    struct order order;
    const char *phase, *text;
};

/* How many of the table were not caught, or in another way. */
size_t missed(const struct catch *table, size_t count);
