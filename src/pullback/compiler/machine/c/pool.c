/* The pool: `parallel` shares a loop among threads, and `work` is what a thread does for ever (threads.py).

   Everybody takes ranges of `grain` units from a counter until there are none left. A thread that looks for work spins
   for a while and then sleeps on a futex. Whoever asks takes part, and waits at the end only for threads that have begun,
   so a thread that comes late, or does not exist any more after a fork, is not waited for. Only one loop is shared at a
   time; a second caller does its work alone. */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __builtin_arm_yield()
#endif

enum {
    SPINS = 4000,    /* of whoever looks for work, before it sleeps */
    PATIENCE = 1000, /* of whoever waits for others to finish, before it lets them have the processor */
    STACK = 1 << 22, /* bytes of the stack of a thread, on which the memory of a tile lies */
};
#define CLOSED ((int64_t)1 << 62)

typedef void loop(void *args, int64_t begin, int64_t end);

/* Each field has a cache line of its own. */
static struct {
    _Alignas(64) _Atomic int32_t generation; /* the number of loops until now, for which threads wait */
    _Alignas(64) _Atomic int64_t state;      /* threads that take part; with `CLOSED`, nobody may join any more */
    _Alignas(64) _Atomic int64_t next;       /* the first unit that nobody has taken */
    _Alignas(64) _Atomic int64_t is_busy;
    _Alignas(64) _Atomic int64_t sleepers;
    _Alignas(64) _Atomic int64_t limit; /* threads that may take part, with whoever asks */
    _Alignas(64) struct {
        loop *function;
        void *args;
        int64_t units, grain;
    } job;
} pool;

static void take(void)
{
    loop *function = pool.job.function;
    void *args = pool.job.args;
    int64_t units = pool.job.units, grain = pool.job.grain;
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&pool.next, grain, memory_order_acq_rel);
        if (begin >= units)
            return;
        function(args, begin, begin + grain > units ? units : begin + grain);
    }
}

void parallel(loop *function, void *args, int64_t units, int64_t grain)
{
    int64_t nobody = 0;
    if (atomic_load_explicit(&pool.limit, memory_order_relaxed) < 2 ||
        !atomic_compare_exchange_strong_explicit(&pool.is_busy, &nobody, 1, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        function(args, 0, units);
        return;
    }
    pool.job.function = function;
    pool.job.args = args;
    pool.job.units = units;
    pool.job.grain = grain;
    atomic_store_explicit(&pool.next, 0, memory_order_release);
    atomic_store(&pool.state, 0);
    atomic_fetch_add(&pool.generation, 1);
    if (atomic_load(&pool.sleepers) != 0)
        syscall(SYS_futex, &pool.generation, FUTEX_WAKE_PRIVATE, 1000);
    take();
    atomic_fetch_or_explicit(&pool.state, CLOSED, memory_order_acq_rel);
    for (int64_t waited = 0; atomic_load_explicit(&pool.state, memory_order_acquire) != CLOSED; waited++) {
        PAUSE();
        if (waited >= PATIENCE)
            sched_yield(); /* the thread that is waited for may need this processor */
    }
    atomic_store_explicit(&pool.is_busy, 0, memory_order_release);
}

/* Take part in the loop that is shared now, if it is not over. */
static void join(void)
{
    int64_t count = atomic_load(&pool.state);
    do {
        if (count >= CLOSED)
            return;
    } while (!atomic_compare_exchange_strong(&pool.state, &count, count + 1));
    take();
    atomic_fetch_sub_explicit(&pool.state, 1, memory_order_acq_rel);
}

static void *work(void *number)
{
    int32_t seen = atomic_load(&pool.generation);
    for (int64_t turn = 0;; turn++) {
        int32_t now = atomic_load(&pool.generation);
        if (now != seen) {
            seen = now;
            turn = -1;
            if ((int64_t)number < atomic_load_explicit(&pool.limit, memory_order_relaxed))
                join();
        } else if (turn < SPINS) {
            PAUSE();
        } else {
            turn = -1;
            atomic_fetch_add(&pool.sleepers, 1);
            syscall(SYS_futex, &pool.generation, FUTEX_WAIT_PRIVATE, seen, NULL);
            atomic_fetch_sub(&pool.sleepers, 1);
        }
    }
    return NULL;
}

/* Start the thread of a number, from 1 on; the result is 0 if there is one. */
int64_t start(int64_t number)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int64_t failure = pthread_create(&thread, &attributes, work, (void *)number);
    pthread_attr_destroy(&attributes);
    return failure;
}

void limit(int64_t threads)
{
    pool.limit = threads;
}

/* In a child after a fork: it has no threads, and nobody is at work. */
void forget(void)
{
    pool.state = pool.is_busy = pool.sleepers = pool.limit = 0;
}
