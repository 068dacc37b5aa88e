/* The loop that a native ufunc of NumPy calls, and `share`, which threads call. All native ufuncs have these (ufuncs.py).

   The record says what to do. Operands that lie side by side, and such that do not move, are cut into blocks, and the
   formula's own `block` computes one after the other; threads share the blocks of long loops. Anything else is done by
   NumPy's own loop, if the record has one. Where there is none, elements that do not lie side by side are gathered, block
   by block. An operand that does not move is spread over a block once.

   Floating point exceptions have to arrive in the thread that NumPy looks at. `HARDWARE` raises those that the processor
   saw in any of the threads, `LOOKED_AT` those that `block` reports, and forgets what the processor saw. NumPy may call a
   loop for one row after the other, so what earlier calls raised stays. */

#include "pullback.h"
#include <fenv.h>
#include <stdatomic.h>
#include <string.h>

struct task {
    int64_t length;
    _Atomic int64_t raised;
    const struct ufunc *record;
    char **args;
    const npy_intp *steps;
};

static void pack(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t width, int64_t count)
{
#define COPY(bytes)                                                                                                    \
    case bytes:                                                                                                        \
        for (int64_t k = 0; k < count; k++)                                                                            \
            memcpy(to + k * to_step, from + k * from_step, bytes);                                                     \
        break
    switch (width) {
        COPY(1);
        COPY(2);
        COPY(4);
        COPY(8);
    }
#undef COPY
}

/* Fill a block with one element. */
static void spread(char *block, const char *element, int64_t width)
{
    memcpy(block, element, width);
    for (int64_t filled = width; filled < BLOCK * width; filled *= 2)
        memcpy(block + filled, block, filled);
}

/* Does an operand not move? The result, which is the last one, is never taken for one that does not. */
static int is_still(const struct ufunc *record, const npy_intp *steps, int64_t k)
{
    return steps[k] == 0 && k + 1 < record->count;
}

static int is_simple(const struct ufunc *record, const npy_intp *steps, int64_t k)
{
    return steps[k] == record->widths[k] || is_still(record, steps, k);
}

static int are_simple(const struct ufunc *record, const npy_intp *steps)
{
    for (int64_t k = 0; k < record->count; k++)
        if (!is_simple(record, steps, k))
            return 0;
    return 1;
}

/* Compute the blocks from `begin` to `end`; all at once if operands lie side by side or do not move. */
static void share(void *args, int64_t begin, int64_t end)
{
    struct task *task = args;
    const struct ufunc *record = task->record;
    const npy_intp *steps = task->steps;
    const int64_t *widths = record->widths;
    int64_t count = record->count, last = count - 1, bits = 0;
    char(*buffers)[8 * BLOCK] = __builtin_alloca_with_align(count * sizeof *buffers, 8 * 64);
    char **bases = __builtin_alloca(count * sizeof *bases), **pointers = __builtin_alloca(count * sizeof *pointers);
    int64_t *units = __builtin_alloca(count * sizeof *units);
    _Alignas(16) char environment[64]; /* more than any system's */

    if (record->reports == HARDWARE)
        feclearexcept((int)record->flags);
    else
        fegetenv((fenv_t *)environment);
    for (int64_t k = 0; k < count; k++) {
        units[k] = !is_still(record, steps, k);
        bases[k] = units[k] ? task->args[k] : buffers[k];
        if (!units[k])
            spread(buffers[k], task->args[k], widths[k]);
    }
    int64_t span = are_simple(record, steps) ? end - begin : 1;
    for (int64_t unit = begin; unit < end; unit += span) {
        int64_t start = unit * BLOCK, rest = task->length - start;
        int64_t length = rest < span * BLOCK ? rest : span * BLOCK;
        for (int64_t k = 0; k < count; k++) {
            pointers[k] = bases[k] + start * steps[k];
            if (!is_simple(record, steps, k)) {
                if (k != last)
                    pack(buffers[k], widths[k], pointers[k], steps[k], widths[k], length);
                pointers[k] = buffers[k];
            }
        }
        bits |= record->block(pointers, units, length);
        if (!is_simple(record, steps, last))
            pack(bases[last] + start * steps[last], steps[last], buffers[last], widths[last], widths[last], length);
    }
    if (record->reports == HARDWARE)
        bits = fetestexcept((int)record->flags);
    else
        fesetenv((fenv_t *)environment);
    atomic_fetch_or_explicit(&task->raised, bits, memory_order_relaxed);
}

void loop(char **args, const npy_intp *lengths, const npy_intp *steps, const struct ufunc *record)
{
    int64_t length = lengths[0], units = (length + BLOCK - 1) / BLOCK;
    if (record->other != NULL && (length < record->least || !are_simple(record, steps))) {
        record->other(args, lengths, steps, record->its);
        return;
    }
    struct task task = {length, 0, record, args, steps};
    if (record->reports == HARDWARE)
        task.raised = fetestexcept((int)record->flags);
    if (record->parallel != NULL && length >= record->alone)
        record->parallel(share, &task, units, record->grain);
    else
        share(&task, 0, units);
    if (task.raised != 0)
        feraiseexcept((int)task.raised);
}
