/* An allocator that keeps a few large buffers for the next array, and a function that calls another with this allocator
   in force (buffers.py).

   A buffer begins 64 bytes after the memory it lies in, which holds its capacity. Freed buffers wait in a short list, the
   newest last; the oldest go when there are too many, or when they are more bytes than `limit` together. Python's lock is
   held wherever NumPy allocates, so the list has a lock of its own only as a precaution: who does not get it goes
   without. */

#include "pullback.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SLOTS = 64,
    LEAST = 1 << 16, /* bytes below which a buffer is not kept */
    HUGE = 1 << 22,  /* bytes from which on the system is asked for large pages, as NumPy does */
    PAGE = 4096,
};

struct buffer {
    _Alignas(64) size_t capacity;
    _Alignas(64) char data[];
};
#define BUFFER_OF(data) ((struct buffer *)((char *)(data) - sizeof(struct buffer)))

static struct {
    _Atomic int64_t is_locked;
    size_t limit, total;
    int64_t count;
    struct buffer *list[SLOTS];
} kept;

static int try_lock(void)
{
    int64_t no = 0;
    return atomic_compare_exchange_strong_explicit(&kept.is_locked, &no, 1, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

static void unlock(void)
{
    atomic_store_explicit(&kept.is_locked, 0, memory_order_release);
}

/* Take a buffer out of the list. */
static struct buffer *taken(int64_t place)
{
    struct buffer *buffer = kept.list[place];
    kept.count--;
    kept.total -= buffer->capacity;
    memmove(kept.list + place, kept.list + place + 1, (kept.count - place) * sizeof *kept.list);
    return buffer;
}

/* A buffer that waits and is large enough, but at most a quarter larger. */
static struct buffer *found(size_t size)
{
    if (size < LEAST || !try_lock())
        return NULL;
    struct buffer *buffer = NULL;
    for (int64_t k = kept.count - 1; k >= 0 && buffer == NULL; k--) {
        size_t capacity = kept.list[k]->capacity;
        if (capacity >= size && capacity <= size + size / 4)
            buffer = taken(k);
    }
    unlock();
    return buffer;
}

static void *new_memory(void *context, size_t size)
{
    (void)context;
    struct buffer *buffer = found(size);
    if (buffer != NULL)
        return buffer->data;
    size_t whole = size + sizeof *buffer;
    if (whole < size || (buffer = malloc(whole)) == NULL)
        return NULL;
    buffer->capacity = size;
    if (size >= HUGE) {
        char *page = (char *)(((uintptr_t)buffer + PAGE - 1) & -(uintptr_t)PAGE);
        madvise(page, whole - (size_t)(page - (char *)buffer), MADV_HUGEPAGE);
    }
    return buffer->data;
}

static void *new_zeros(void *context, size_t count, size_t width)
{
    size_t size;
    if (__builtin_mul_overflow(count, width, &size))
        return NULL;
    void *data = new_memory(context, size);
    return data == NULL ? NULL : memset(data, 0, size);
}

static void let_go(void *context, void *data, size_t size)
{
    (void)context, (void)size;
    if (data == NULL)
        return;
    struct buffer *buffer = BUFFER_OF(data);
    if (buffer->capacity < LEAST || buffer->capacity > kept.limit || !try_lock()) {
        free(buffer);
        return;
    }
    while (kept.count > 0 && (kept.count >= SLOTS || kept.total + buffer->capacity > kept.limit))
        free(taken(0));
    kept.list[kept.count++] = buffer;
    kept.total += buffer->capacity;
    unlock();
}

static void *moved(void *context, void *data, size_t size)
{
    if (data == NULL)
        return new_memory(context, size);
    size_t capacity = BUFFER_OF(data)->capacity;
    if (capacity >= size)
        return data;
    void *larger = new_memory(context, size);
    if (larger != NULL) {
        memcpy(larger, data, capacity);
        let_go(context, data, capacity);
    }
    return larger;
}

static PyDataMem_Handler handler = {"pullback", 1, {NULL, new_memory, new_zeros, moved, let_go}};

/* The allocator as NumPy wants it. */
PyObject *allocator(void)
{
    return PyCapsule_New(&handler, "mem_handler", NULL);
}

/* The bytes that wait. */
int64_t waiting(void)
{
    return kept.total;
}

/* Give back the memory that waits. */
void release(void)
{
    while (kept.count > 0)
        free(taken(kept.count - 1));
}

/* Let so many bytes wait from now on; what is waiting goes. */
void limit(int64_t bytes)
{
    kept.limit = bytes;
    release();
}

/* Call a ufunc with the allocator in force.

   If CPython has no memory for telling of a change of context, the change may have been made all the same: whatever
   failed, what was there before is put back, if need be with the memory of the result. */
PyObject *within(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct buffers *known = TABLE_OF(self);
    PyObject *kind, *value, *trace, *result = NULL;
    PyObject *before = PyDataMem_GetHandler();
    if (before == NULL)
        return NULL;
    PyObject *replaced = PyDataMem_SetHandler(known->allocator);
    if (replaced != NULL)
        result = PyObject_Vectorcall(known->ufunc, args, count, NULL);
    if (result == NULL)
        PyErr_Fetch(&kind, &value, &trace);
    PyObject *ours = PyDataMem_SetHandler(before);
    if (ours == NULL) {
        if (result != NULL)
            PyErr_Fetch(&kind, &value, &trace);
        Py_DecRef(result);
        result = NULL;
        ours = PyDataMem_SetHandler(before);
    }
    Py_DecRef(ours);
    Py_DecRef(replaced);
    Py_DecRef(before);
    if (result == NULL)
        PyErr_Restore(kind, value, trace);
    return result;
}
