/* The entry of compiled segments: a builtin function of arrays (entry.py).

   It checks type, dtype, number of axes, flags, lengths and strides of every array, makes arrays for the results, finds
   memory for the arena, lets go of the interpreter's lock if there is much to do, and calls the segment's `run`. Whatever
   is not as it was compiled for goes to `slow`, a function of Python. */

#include "pullback.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Arrays that were pickled have dtypes of their own; numbers of NumPy's own types differ in nothing but byte order. */
static int is_same(const PyArray_Descr *its, const PyArray_Descr *wanted)
{
    return its == wanted || (its->type_num == wanted->type_num && PyArray_ISNBO(its->byteorder));
}

/* Is this array as its record says? The record of the next one, or NULL. */
static const int64_t *checked(PyObject *object, const int64_t *record, PyTypeObject *type)
{
    if (Py_TYPE(object) != type)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)object;
    const struct array_record *wanted = (const struct array_record *)record;
    int64_t ndim = wanted->ndim;
    if (PyArray_NDIM(array) != ndim || !is_same(PyArray_DESCR(array), wanted->descr) ||
        (PyArray_FLAGS(array) & wanted->flags) != wanted->flags)
        return NULL;
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    const int64_t *lengths = wanted->lengths, *steps = lengths + ndim;
    for (int64_t k = 0; k < ndim; k++)
        if (shape[k] != lengths[k] || (strides[k] != steps[k] && steps[k] != ANY))
            return NULL;
    return steps + ndim;
}

/* A new array as the record says, whose reference is the caller's. */
static PyObject *new_array(const struct array_record *record, PyTypeObject *type)
{
    const int64_t *strides = record->flags != 0 ? record->lengths + record->ndim : NULL;
    Py_IncRef((PyObject *)record->descr);
    return PyArray_NewFromDescr(type, record->descr, (int)record->ndim, (npy_intp *)record->lengths,
                                (npy_intp *)strides, NULL, 0, NULL);
}

/* An instance of the class that takes over a reference to the array, or NULL. */
static PyObject *wrapped(const struct entry *known, PyObject *array, const struct wrap_record *record)
{
    PyObject *instance = PyType_GenericAlloc(known->wrapper, 0);
    if (instance == NULL)
        return NULL;
    SLOT(instance, known->array_slot) = array;
    for (int64_t k = 0; k < record->count; k++) {
        Py_IncRef(record->slots[k].value);
        SLOT(instance, record->slots[k].offset) = record->slots[k].value;
    }
    return instance;
}

/* Are all elements of a new array finite? What is no floating point number of NumPy's usual sizes is. */
static int is_finite(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int kind = PyArray_DESCR(array)->type_num;
    npy_intp count = 1;
    for (int k = 0; k < PyArray_NDIM(array); k++)
        count *= PyArray_DIMS(array)[k];
    int wrong = 0;
    if (kind == NPY_DOUBLE) {
        const double *data = PyArray_DATA(array);
        for (npy_intp k = 0; k < count; k++)
            wrong |= !(data[k] - data[k] == 0);
    } else if (kind == NPY_FLOAT) {
        const float *data = PyArray_DATA(array);
        for (npy_intp k = 0; k < count; k++)
            wrong |= !(data[k] - data[k] == 0);
    }
    return !wrong;
}

static void drop(PyObject **made, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        Py_DecRef(made[k]);
}

static int64_t run(const struct entry *known, void **table, void *room)
{
    int64_t (*function)(void **table, void *room) = known->code->run;
    if (!known->releases)
        return function(table, room);
    PyThreadState *thread = PyEval_SaveThread();
    int64_t wrong = function(table, room);
    PyEval_RestoreThread(thread);
    return wrong;
}

PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct entry *known = TABLE_OF(self);
    struct code *code = known->code;
    int64_t inputs = known->inputs, constants = known->constants, results = known->results;
    code->left--;
    if (count != inputs || code->left == 0)
        return PyObject_Vectorcall(known->slow, args, count, NULL);

    PyTypeObject *type = &PyArray_Type;
    void **table = __builtin_alloca((inputs + constants + results + 1) * sizeof *table);
    const int64_t *record = known->rest + constants;
    for (int64_t k = 0; k < inputs; k++) {
        record = checked(args[k], record, type);
        if (record == NULL)
            return PyObject_Vectorcall(known->slow, args, count, NULL);
        table[k] = PyArray_DATA((PyArrayObject *)args[k]);
    }
    for (int64_t k = 0; k < constants; k++)
        table[inputs + k] = (void *)known->rest[k];

    PyObject **made = __builtin_alloca((results + 1) * sizeof *made);
    for (int64_t k = 0; k < results; k++) {
        const struct array_record *wanted = (const struct array_record *)record;
        made[k] = new_array(wanted, type);
        if (made[k] == NULL) {
            drop(made, k);
            return NULL;
        }
        table[inputs + constants + k] = PyArray_DATA((PyArrayObject *)made[k]);
        record = wanted->lengths + 2 * wanted->ndim;
    }

    int64_t wrong;
    if (known->arena == 0) {
        wrong = run(known, table, __builtin_alloca_with_align(known->stack, 8 * 64));
    } else { /* memory that the call before has left, or new */
        void *room = atomic_exchange_explicit(known->slot, NULL, memory_order_acq_rel);
        if (room == NULL && (room = malloc(known->arena)) == NULL) {
            drop(made, results);
            return PyErr_NoMemory();
        }
        wrong = run(known, table, room);
        free(atomic_exchange_explicit(known->slot, room, memory_order_acq_rel));
    }
    for (int64_t k = 0; k < results && known->finite && wrong == 0; k++)
        wrong = !is_finite(made[k]);
    if (wrong != 0) { /* the slow way finds it again and raises */
        drop(made, results);
        return PyObject_Vectorcall(known->slow, args, count, NULL);
    }

    for (int64_t k = 0; k < results && known->wrapper != NULL; k++) {
        const struct wrap_record *slots = (const struct wrap_record *)record;
        if (slots->count != 0) {
            PyObject *instance = wrapped(known, made[k], slots);
            if (instance == NULL) {
                drop(made, results);
                return NULL;
            }
            made[k] = instance;
        }
        record += 1 + 2 * slots->count;
    }
    if (known->single)
        return made[0];
    PyObject *tuple = PyTuple_New(results);
    if (tuple == NULL) {
        drop(made, results);
        return NULL;
    }
    for (int64_t k = 0; k < results; k++)
        PyTuple_SetItem(tuple, k, made[k]);
    return tuple;
}
