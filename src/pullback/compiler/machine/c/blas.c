/* BLAS told to use one thread while native code runs (threads.py).

   It has threads of its own. They would wait for work on the same processors as ours, and each for the other. Whoever
   comes first tells it, and whoever leaves last takes that back. */

#include <stdatomic.h>
#include <stdint.h>

int pullback_openblas_get_num_threads(void);
void pullback_openblas_set_num_threads(int threads);

static _Atomic int64_t is_locked;
static int64_t inside; /* calls that are under way */
static int before;     /* threads that BLAS had */

static void lock(void)
{
    int64_t no = 0;
    while (!atomic_compare_exchange_weak_explicit(&is_locked, &no, 1, memory_order_acq_rel, memory_order_relaxed))
        no = 0;
}

static void unlock(void)
{
    atomic_store_explicit(&is_locked, 0, memory_order_release);
}

void enter(void)
{
    lock();
    if (inside++ == 0) {
        before = pullback_openblas_get_num_threads();
        if (before > 1)
            pullback_openblas_set_num_threads(1);
    }
    unlock();
}

void leave(void)
{
    lock();
    if (--inside == 0 && before > 1)
        pullback_openblas_set_num_threads(before);
    unlock();
}

/* In a child after a fork nobody is inside, whatever other threads were doing. */
void forget(void)
{
    atomic_store(&is_locked, 0);
    if (inside != 0) {
        inside = 1;
        leave();
    }
}
