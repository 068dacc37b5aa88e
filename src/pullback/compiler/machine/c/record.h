/* What all recorded calls need, for tape.c: tensors and nodes, what stands behind a tensor, what a node keeps of an operand,
   and specs. */

#ifndef PULLBACK_RECORD_H
#define PULLBACK_RECORD_H

static PyObject *kept(PyObject *object)
{
    Py_IncRef(object);
    return object;
}

/* Arrays on the stack are in structs: their alignment would not be the same for all machines. */
struct nodes {
    PyObject *each[2];
};

struct operand {
    PyObject *tensor; /* NULL for a number */
    PyObject *saved;  /* what a node keeps: an array, or a number */
};

static npy_intp size_of(PyArrayObject *array)
{
    npy_intp size = 1;
    for (int k = 0; k < PyArray_NDIM(array); k++)
        size *= PyArray_DIMS(array)[k];
    return size;
}

/* Is this a light view whose history is up to date, made where tensors have `within`? */
static int is_fresh(const struct calls *known, PyObject *tensor, PyObject *extra, PyObject *within)
{
    int is_here = within == known->none ? Py_TYPE(extra) == known->view
                                        : Py_TYPE(extra) == known->view_within && SLOT(extra, known->within_of_view) == within;
    if (!is_here || PyObject_IsTrue(known->open_levels) != 0 || SLOT(tensor, known->node_of_tensor) == known->none)
        return 0;
    PyObject *counter = SLOT(tensor, known->counter_of_tensor);
    return PyObject_RichCompareBool(SLOT(extra, known->version_of_view), SLOT(counter, known->value_of_counter), Py_EQ) == 1;
}

/* Is this a tensor that is nothing but an array with a history? In the body of a transform: with one that began there, or
   a constant of the caller's. */
static int is_usual(const struct calls *known, PyObject *object, PyObject *within)
{
    if (Py_TYPE(object) != known->tensor)
        return 0;
    PyObject *extra = SLOT(object, known->extra_of_tensor);
    return (extra == within || (extra == known->none && SLOT(object, known->node_of_tensor) == known->none) ||
            is_fresh(known, object, extra, within)) &&
           Py_TYPE(SLOT(object, known->data_of_tensor)) == &PyArray_Type;
}

/* The node behind a tensor, whose reference is the caller's: None for a constant, NULL for an exception. */
static PyObject *node_behind(const struct calls *known, PyObject *tensor)
{
    PyObject *behind = tensor == NULL ? known->none : SLOT(tensor, known->node_of_tensor);
    if (Py_TYPE(behind) != known->leaf)
        return kept(behind);
    PyObject *reference = SLOT(behind, known->reference_of_leaf);
    if (reference != known->none) {
        Py_IncRef(reference);
        PyObject *found = PyObject_CallNoArgs(reference);
        Py_DecRef(reference);
        if (found != known->none)
            return found;
        Py_DecRef(found);
    }
    return PyObject_Vectorcall(known->accumulator_of, &tensor, 1, NULL);
}

/* Fill the slots of a node for an operand; a gradient that reads it is wanted, or not. */
static int save(const struct calls *known, PyObject *node, int64_t data, int64_t epoch, const struct operand *read, int wanted)
{
    if (data == 0)
        return 0;
    PyObject *since = known->unwritten;
    if (wanted && read->tensor != NULL) {
        PyObject *counter = SLOT(read->tensor, known->counter_of_tensor);
        since = counter == known->none ? known->none : SLOT(counter, known->epoch_of_counter);
        if (since != known->none) {
            struct nodes given = {{since, read->saved}};
            since = PyObject_VectorcallMethod(known->hold, given.each, 2, NULL);
            if (since == NULL)
                return -1;
            SLOT(node, epoch) = since;
            SLOT(node, data) = kept(read->saved);
            return 0;
        }
    }
    SLOT(node, epoch) = kept(since);
    SLOT(node, data) = kept(wanted ? read->saved : known->none);
    return 0;
}

static PyObject *new_tensor(const struct calls *known, PyObject *out, PyObject *spec, PyObject *within)
{
    PyObject *tensor = PyType_GenericAlloc(known->tensor, 0);
    if (tensor == NULL)
        return NULL;
    SLOT(tensor, known->data_of_tensor) = kept(out);
    SLOT(tensor, known->spec_of_tensor) = kept(spec);
    SLOT(tensor, known->node_of_tensor) = kept(known->none);
    SLOT(tensor, known->counter_of_tensor) = kept(known->none);
    SLOT(tensor, known->extra_of_tensor) = kept(within);
    SLOT(tensor, known->meta_of_tensor) = kept(known->none);
    return tensor;
}

/* What tensors have that are made in the modes in force, borrowed: None in normal ones. NULL if the modes are others, or
   for an exception. */
static PyObject *made_within(const struct calls *known)
{
    PyObject *modes = NULL;
    if (PyContextVar_Get(known->modes, NULL, &modes) < 0)
        return NULL;
    int are_usual = SLOT(modes, known->usual_of_modes) == SLOT(known->switch_, known->normal_of_switch);
    PyObject *within = SLOT(modes, known->within_of_modes);
    Py_DecRef(modes); /* the variable has them */
    return are_usual ? within : NULL;
}

/* Specs that were asked for before, by a number made of lengths: what is asked of Python takes longer than most kernels. */
#define KNOWN_SPECS 256
#define KNOWN_AXES 4
struct known_spec {
    PyObject *spec;
    PyArray_Descr *dtype;
    int64_t ndim;
    npy_intp lengths[KNOWN_AXES];
};

static struct {
    struct known_spec each[KNOWN_SPECS];
} known_specs;

static int has_lengths(PyArrayObject *array, int64_t ndim, const npy_intp *lengths)
{
    return PyArray_NDIM(array) == ndim && memcmp(PyArray_DIMS(array), lengths, ndim * sizeof(npy_intp)) == 0;
}

static PyObject *spec_asked_for(const struct calls *known, PyArrayObject *out)
{
    struct nodes given = {{PyTuple_New(PyArray_NDIM(out)), (PyObject *)PyArray_DESCR(out)}};
    PyObject *shape = given.each[0], *spec = NULL;
    int k = 0;
    for (; shape != NULL && k < PyArray_NDIM(out); k++) {
        PyObject *length = PyLong_FromSsize_t(PyArray_DIMS(out)[k]);
        if (length == NULL)
            break;
        PyTuple_SetItem(shape, k, length);
    }
    if (shape != NULL && k == PyArray_NDIM(out))
        spec = PyObject_Vectorcall(known->spec_for, given.each, 2, NULL);
    Py_DecRef(shape);
    return spec;
}

/* The spec of an array, whose reference is the caller's. */
static PyObject *spec_for(const struct calls *known, PyArrayObject *out)
{
    uint64_t place = PyArray_DESCR(out)->type_num;
    if (PyArray_NDIM(out) > KNOWN_AXES)
        return spec_asked_for(known, out);
    for (int k = 0; k < PyArray_NDIM(out); k++)
        place = place * 31 + (uint64_t)PyArray_DIMS(out)[k] + 1;
    struct known_spec *found = &known_specs.each[place % KNOWN_SPECS];
    if (found->spec != NULL && found->dtype == PyArray_DESCR(out) && has_lengths(out, found->ndim, found->lengths))
        return kept(found->spec);
    PyObject *spec = spec_asked_for(known, out);
    if (spec != NULL) {
        PyObject *old = found->spec, *dtype = (PyObject *)found->dtype;
        found->spec = kept(spec);
        found->dtype = (PyArray_Descr *)kept((PyObject *)PyArray_DESCR(out));
        found->ndim = PyArray_NDIM(out);
        memcpy(found->lengths, PyArray_DIMS(out), PyArray_NDIM(out) * sizeof(npy_intp));
        Py_DecRef(old);
        Py_DecRef(dtype);
    }
    return spec;
}

#endif
