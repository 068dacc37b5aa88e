/* Recorded calls (tape.py): what the functions of eager/source.py do for plain tensors in normal modes. The functions
   here return None for a call that is not for them.

   `call` is that of elementwise operators, of tensors of one dtype and numbers, which are computed by NumPy's own loop. Where
   that has raised a floating point exception, NumPy computes again, and complains. `direct` is that of other operators
   with one result, which a function of Python or a compiled one computes; `known` finds their parameters first. */

#include "pullback.h"
#include <fenv.h>
#include <string.h>

#include "record.h"
#include "steps.h"

struct operands {
    struct operand each[2];
};

static int is_plain(const struct calls *known, PyObject *object, PyObject *within)
{
    return is_usual(known, object, within) && is_in_order((PyArrayObject *)SLOT(object, known->data_of_tensor));
}

/* A number as an array of the dtype, which NumPy would make of it; 1 if that is possible. */
static int read_number(const struct calls *known, PyObject *spec, PyObject *number, struct operand *read, int which,
                       struct values *values, int type)
{
    if (!PyFloat_CheckExact(number) && !PyLong_CheckExact(number))
        return 0;
    PyObject *found = PyDict_GetItemWithError(SLOT(spec, known->numbers_of_spec), number);
    if (found != NULL) {
        if (Py_TYPE(found) != &PyArray_Type)
            return 0;
        values->each[X + which] = PyArray_DATA((PyArrayObject *)found);
        read->saved = found;
        return 1;
    }
    if (PyErr_Occurred())
        return -1;
    double *wide = &values->wide[which]; /* a number that is not known as an array */
    *wide = PyFloat_CheckExact(number) ? PyFloat_AsDouble(number) : 1;
    if (PyLong_CheckExact(number) && PyObject_Not(number))
        *wide = 0;
    if (*wide != 0) /* the first time Python makes the array */
        return 0;
    values->narrow[which] = (float)*wide;
    values->each[X + which] = type == NPY_DOUBLE ? (char *)wide : (char *)&values->narrow[which];
    read->saved = number;
    return 1;
}

static void read_tensor(const struct calls *known, PyObject *tensor, struct operand *read, int which, struct values *values)
{
    read->tensor = tensor;
    read->saved = SLOT(tensor, known->data_of_tensor);
    values->each[X + which] = PyArray_DATA((PyArrayObject *)read->saved);
}

/* The node of a call; the references to the nodes behind are taken over. */
static PyObject *new_node(const struct call *op, PyTypeObject *kind, PyObject *spec, const struct operand *read,
                          PyObject **behind, PyObject *out)
{
    const struct calls *known = op->known;
    int64_t wanted = (behind[0] != known->none ? 1 : 0) | (op->operands == 2 && behind[1] != known->none ? 2 : 0);
    PyObject *next = PyTuple_New(op->operands);
    if (next == NULL) {
        for (int64_t k = 0; k < op->operands; k++)
            Py_DecRef(behind[k]);
        return NULL;
    }
    for (int64_t k = 0; k < op->operands; k++)
        PyTuple_SetItem(next, k, behind[k]);
    PyObject *node = PyType_GenericAlloc(kind, 0);
    if (node == NULL) {
        Py_DecRef(next);
        return NULL;
    }
    SLOT(node, known->next_of_node) = next;
    SLOT(node, known->spec_of_node) = kept(spec);
    SLOT(node, known->rare_of_node) = kept(known->none);
    if (op->out_data != 0)
        SLOT(node, op->out_data) = kept(op->out_readers & wanted ? out : known->not_saved);
    int wrong = save(known, node, op->x_data, op->x_epoch, &read[0], (op->x_readers & wanted) != 0) < 0 ||
                (op->operands == 2 &&
                 save(known, node, op->y_data, op->y_epoch, &read[1], (op->y_readers & wanted) != 0) < 0);
    PyObject *stamp = wrong ? NULL : PyObject_CallNoArgs(known->clock);
    if (stamp == NULL) {
        Py_DecRef(node);
        return NULL;
    }
    SLOT(node, known->seq_of_node) = stamp;
    return node;
}

static PyObject *recorded(const struct call *op, PyTypeObject *kind, PyObject *spec, const struct operand *read, PyObject *out,
                          PyObject *within)
{
    const struct calls *known = op->known;
    struct nodes found;
    PyObject **behind = found.each;
    for (int64_t k = 0; k < op->operands; k++) {
        behind[k] = node_behind(known, read[k].tensor);
        if (behind[k] == NULL) {
            if (k == 1)
                Py_DecRef(behind[0]);
            return NULL;
        }
    }
    PyObject *result = new_tensor(known, out, spec, within);
    if (result == NULL || (behind[0] == known->none && (op->operands == 1 || behind[1] == known->none))) {
        for (int64_t k = 0; k < op->operands; k++)
            Py_DecRef(behind[k]);
        return result;
    }
    PyObject *node = new_node(op, kind, spec, read, behind, out);
    if (node == NULL) {
        Py_DecRef(result);
        return NULL;
    }
    PyObject *none = SLOT(result, known->node_of_tensor);
    SLOT(result, known->node_of_tensor) = node;
    Py_DecRef(none);
    return result;
}

/* Is this spec one of arrays that are computed here? */
static int is_for_loops(const struct calls *known, PyObject *spec, PyArrayObject *array)
{
    int type = PyArray_DESCR(array)->type_num;
    return SLOT(spec, known->is_plain_of_spec) == known->true_ && (type == NPY_DOUBLE || type == NPY_FLOAT) &&
           PyArray_ISNBO(PyArray_DESCR(array)->byteorder) && size_of(array) <= known->most;
}

/* Read the operands; the array whose dtype the result has, or NULL if the call is not for this function. */
static PyArrayObject *read_operands(const struct call *op, PyObject *const *args, struct operand *read, struct values *values,
                                    PyObject *within)
{
    const struct calls *known = op->known;
    int first = is_plain(known, args[0], within) ? 0 : 1;
    if (first == 1 && (op->operands == 1 || !is_plain(known, args[1], within)))
        return NULL;
    PyObject *tensor = args[first], *spec = SLOT(tensor, known->spec_of_tensor);
    PyArrayObject *array = (PyArrayObject *)SLOT(tensor, known->data_of_tensor);
    int type = PyArray_DESCR(array)->type_num;
    if (!is_for_loops(known, spec, array))
        return NULL;
    read_tensor(known, tensor, &read[first], first, values);
    if (op->operands == 2) {
        PyObject *other = args[1 - first];
        if (first == 0 && is_plain(known, other, within)) {
            PyObject *others = SLOT(other, known->spec_of_tensor);
            PyArrayObject *data = (PyArrayObject *)SLOT(other, known->data_of_tensor);
            if (others != spec && (!is_for_loops(known, others, data) || PyArray_DESCR(data)->type_num != type))
                return NULL;
            read_tensor(known, other, &read[1], 1, values);
        } else if (read_number(known, spec, other, &read[1 - first], 1 - first, values, type) <= 0) {
            return NULL;
        }
    }
    return array;
}

/* How operands are gone through below the result, and whether they have several shapes: 0 if the call is not for this
   function. */
static int find_ways(const struct calls *known, const struct operand *read, PyArrayObject *first, struct values *values,
                     int *is_loose)
{
    PyArrayObject *x = (PyArrayObject *)read[0].saved, *y = (PyArrayObject *)read[1].saved;
    npy_intp width = PyArray_DESCR(first)->type_num == NPY_DOUBLE ? 8 : 4;
    int is_x = read[0].tensor != NULL, is_y = read[1].tensor != NULL;
    *is_loose = is_x && is_y && SLOT(read[0].tensor, known->spec_of_tensor) != SLOT(read[1].tensor, known->spec_of_tensor);
    if (!*is_loose && (!is_x || is_contiguous(x)) && (!is_y || is_contiguous(y))) {
        join_axes(values, size_of(first), width);
        values->of_x = is_x ? values->full : values->none;
        values->of_y = is_y ? values->full : values->none;
        return 1;
    }
    int in_x = is_x ? PyArray_NDIM(x) : 0, in_y = is_y ? PyArray_NDIM(y) : 0, ndim = in_x > in_y ? in_x : in_y;
    if (ndim > MOST_AXES)
        return 0;
    values->ndim = ndim;
    for (int k = ndim - 1; k >= 0; k--) {
        npy_intp length = --in_x < 0 ? 1 : PyArray_DIMS(x)[in_x];
        values->lengths[k] = --in_y >= 0 && length == 1 ? PyArray_DIMS(y)[in_y] : length;
    }
    return lay_out(values, width) <= known->most && /* NumPy complains where shapes do not fit */
           (!is_x || find_steps(&values->of_x, ndim, values->lengths, x)) &&
           (!is_y || find_steps(&values->of_y, ndim, values->lengths, y));
}

/* The result as a tensor, with its history. */
static PyObject *wrapped(const struct call *op, const struct operand *read, int is_loose, PyObject *out, PyObject *within)
{
    const struct calls *known = op->known;
    if (!is_loose)
        return recorded(op, op->node, SLOT(read[read[0].tensor == NULL].tensor, known->spec_of_tensor), read, out, within);
    PyObject *spec = spec_for(known, (PyArrayObject *)out);
    PyObject *result = spec == NULL ? NULL : recorded(op, op->loose, spec, read, out, within);
    Py_DecRef(spec);
    return result;
}

/* call(x) or call(x, y) */
PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct call *op = TABLE_OF(self);
    const struct calls *known = op->known;
    struct operands given;
    struct values values;
    memset(&given, 0, sizeof given);
    memset(&values, 0, sizeof values);
    struct operand *read = given.each;
    int is_loose = 0;
    PyObject *within = count == op->operands ? made_within(known) : NULL;
    PyArrayObject *array = within != NULL ? read_operands(op, args, read, &values, within) : NULL;
    if (array == NULL || !find_ways(known, read, array, &values, &is_loose))
        return PyErr_Occurred() ? NULL : kept(known->none);

    int is_double = PyArray_DESCR(array)->type_num == NPY_DOUBLE;
    Py_IncRef((PyObject *)PyArray_DESCR(array));
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), is_loose ? values.ndim : PyArray_NDIM(array),
                                         is_loose ? values.lengths : PyArray_DIMS(array), NULL, NULL, 0, NULL);
    if (out == NULL)
        return NULL;
    if (op->temporaries != 0) {
        npy_intp bytes = (size_of((PyArrayObject *)out) + 1) * 8;
        give_room(&values, __builtin_alloca_with_align(op->temporaries * bytes, 8 * 64), bytes);
    }
    if (fetestexcept((int)known->flags))
        feclearexcept((int)known->flags);
    take_steps(op->rest, is_double ? op->in_double : op->in_float, &values, out);
    PyObject *result = fetestexcept((int)known->flags) ? kept(known->none) : wrapped(op, read, is_loose, out, within);
    Py_DecRef(out);
    return result;
}

/* Other operators ---------------------------------------------------------------------------------------------------- */

#define MOST_OPERANDS 62 /* one bit for each says whose gradients are wanted */

struct slots { /* of an operand, in the rest of a table */
    int64_t data, epoch, readers;
};

static int is_number(const struct calls *known, PyObject *object)
{
    return object == known->none || PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

/* The kind of a call, borrowed (eager/small.py): NULL if it is not known, or for an exception. */
static PyObject *kind_of(const struct direct *op, PyObject *operands, PyObject *params)
{
    const struct calls *known = op->known;
    if (Py_TYPE(params) == op->settings)
        return SLOT(params, op->call_of_settings);
    if (op->operands < 2 || PyTuple_Size(operands) != op->operands)
        return NULL;
    PyObject *first = SLOT(PyTuple_GetItem(operands, 0), known->spec_of_tensor), *values = PyDict_Values(params);
    Py_ssize_t count = values == NULL ? 0 : PyList_Size(values);
    PyObject *key = values == NULL ? NULL : PyTuple_New(2 + op->operands + 2 * count), *kind = NULL;
    int is_whole = key != NULL;
    if (is_whole) {
        PyTuple_SetItem(key, 0, kept(op->op));
        PyTuple_SetItem(key, 1, kept(known->none));
    }
    for (int64_t k = 0; is_whole && k < op->operands; k++) {
        PyObject *number = PyLong_FromVoidPtr(SLOT(PyTuple_GetItem(operands, k), known->spec_of_tensor));
        is_whole = number != NULL && PyTuple_SetItem(key, 2 + k, number) == 0;
    }
    for (Py_ssize_t k = 0; is_whole && k < count; k++) {
        PyObject *value = PyList_GetItem(values, k);
        PyTuple_SetItem(key, 2 + op->operands + k, kept(value));
        PyTuple_SetItem(key, 2 + op->operands + count + k, kept((PyObject *)Py_TYPE(value)));
    }
    if (is_whole) {
        kind = PyDict_GetItemWithError(SLOT(first, op->known_of_spec), key);
        if (kind == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear(); /* a parameter that has no hash */
    }
    Py_DecRef(key);
    Py_DecRef(values);
    return kind;
}

/* What computes a call: the kernel, or a native function in its place, which returns a tuple. NULL if Python has to see to
   it, because calls are counted, or for an exception. */
static PyObject *function_of(const struct direct *op, PyObject *operands, PyObject *params, int has_numbers, int *is_native)
{
    const struct calls *known = op->known;
    *is_native = 0;
    if (op->settings == NULL || has_numbers)
        return op->settings != NULL && op->operands == 1 ? NULL : op->kernel;
    PyObject *kind = kind_of(op, operands, params);
    if (kind == NULL)
        return NULL;
    PyObject *function = SLOT(kind, op->function_of_kind), *left = SLOT(kind, op->left_of_kind);
    *is_native = function != known->none;
    if (*is_native)
        return function;
    return PyObject_IsTrue(left) == 0 ? op->kernel : NULL;
}

static PyObject *compute(const struct direct *op, PyObject *function, int is_native, PyObject *arrays, PyObject *params)
{
    Py_IncRef(function);
    PyObject *out = PyObject_Call(function, arrays, op->has_params && !is_native ? params : NULL);
    Py_DecRef(function);
    if (out == NULL || !is_native)
        return out;
    PyObject *first = kept(PyTuple_GetItem(out, 0));
    Py_DecRef(out);
    return first;
}

/* Is the gradient of this operand wanted? */
static int is_wanted(const struct direct *op, PyObject *tensor)
{
    if (is_number(op->known, tensor))
        return 0;
    PyObject *spec = SLOT(tensor, op->known->spec_of_tensor);
    return SLOT(tensor, op->known->node_of_tensor) != op->known->none &&
           SLOT(spec, op->is_differentiable_of_spec) == op->known->true_;
}

/* Fill the slots of a new node; -1 if that fails. */
static int fill(const struct direct *op, PyObject *node, PyObject *operands, PyObject *params, PyObject *out, PyObject *spec,
                int64_t wanted)
{
    const struct calls *known = op->known;
    const struct slots *slots = (const struct slots *)op->rest;
    Py_ssize_t count = PyTuple_Size(operands);
    PyObject *next = PyTuple_New(count), *specs;
    if (count == 1) /* there is one tuple for all of them */
        specs = kept(SLOT(SLOT(PyTuple_GetItem(operands, 0), known->spec_of_tensor), op->single_of_spec));
    else
        specs = PyTuple_New(count);
    SLOT(node, known->next_of_node) = next;
    SLOT(node, op->specs_of_node) = specs;
    if (next == NULL || specs == NULL)
        return -1;
    SLOT(node, known->spec_of_node) = kept(spec);
    SLOT(node, known->rare_of_node) = kept(known->none);
    SLOT(node, op->params_of_node) = kept(params);
    if (op->out_data != 0)
        SLOT(node, op->out_data) = kept(op->out_readers & wanted ? out : known->not_saved);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *operand = PyTuple_GetItem(operands, k);
        struct operand read = {.tensor = is_number(known, operand) ? NULL : operand, .saved = operand};
        PyObject *behind = node_behind(known, wanted >> k & 1 ? operand : NULL);
        if (behind == NULL)
            return -1;
        PyTuple_SetItem(next, k, behind);
        if (count > 1)
            PyTuple_SetItem(specs, k, kept(read.tensor == NULL ? known->none : SLOT(operand, known->spec_of_tensor)));
        if (read.tensor != NULL)
            read.saved = SLOT(operand, known->data_of_tensor);
        if (k < op->operands && save(known, node, slots[k].data, slots[k].epoch, &read, (slots[k].readers & wanted) != 0) < 0)
            return -1;
    }
    PyObject *stamp = PyObject_CallNoArgs(known->clock);
    SLOT(node, known->seq_of_node) = stamp;
    return stamp == NULL ? -1 : 0;
}

/* The result as a tensor, with its history; the reference to the array is taken over. */
static PyObject *result_of(const struct direct *op, PyObject *operands, PyObject *params, PyObject *out, PyObject *within)
{
    const struct calls *known = op->known;
    if (Py_TYPE(out) != &PyArray_Type) {
        PyObject *array = PyArray_IsScalar(out, Generic) ? PyArray_FromScalar(out, NULL)
                                                         : PyObject_Vectorcall(op->asarray, &out, 1, NULL);
        Py_DecRef(out);
        if (array == NULL)
            return NULL;
        out = array;
    }
    PyObject *spec = spec_for(known, (PyArrayObject *)out);
    PyObject *result = spec == NULL ? NULL : new_tensor(known, out, spec, within);
    int64_t wanted = 0;
    Py_ssize_t count = PyTuple_Size(operands);
    for (Py_ssize_t k = 0; k < count; k++)
        wanted |= (int64_t)is_wanted(op, PyTuple_GetItem(operands, k)) << k;
    if (result != NULL && op->node != NULL && wanted != 0 && SLOT(spec, op->is_differentiable_of_spec) == known->true_) {
        PyObject *node = PyType_GenericAlloc(op->node, 0);
        if (node == NULL || fill(op, node, operands, params, out, spec, wanted) < 0) {
            Py_DecRef(node);
            Py_DecRef(result);
            result = NULL;
        } else {
            PyObject *none = SLOT(result, known->node_of_tensor);
            SLOT(result, known->node_of_tensor) = node;
            Py_DecRef(none);
        }
    }
    Py_DecRef(spec);
    Py_DecRef(out);
    return result;
}

/* direct(operands, params) */
PyObject *direct(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    const struct direct *op = TABLE_OF(self);
    const struct calls *known = op->known;
    PyObject *operands = args[0], *params = args[1];
    Py_ssize_t count = PyTuple_Size(operands);
    (void)given;
    PyObject *within = made_within(known);
    if (within == NULL && PyErr_Occurred())
        return NULL;
    if (within == NULL || (count != op->operands && op->operands >= 0) || count > MOST_OPERANDS ||
        (!op->has_params && PyDict_Size(params) != 0))
        return kept(known->none);
    int has_numbers = 0, is_native;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *operand = PyTuple_GetItem(operands, k);
        if (is_usual(known, operand, within) ? size_of((PyArrayObject *)SLOT(operand, known->data_of_tensor)) >= op->large
                                     : k == 0 || !is_number(known, operand))
            return kept(known->none);
        has_numbers = has_numbers || is_number(known, operand);
    }
    PyObject *function = function_of(op, operands, params, has_numbers, &is_native);
    if (function == NULL)
        return PyErr_Occurred() ? NULL : kept(known->none);
    PyObject *arrays = PyTuple_New(count);
    if (arrays == NULL)
        return NULL;
    Py_IncRef(within); /* a kernel may be of Python */
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *operand = PyTuple_GetItem(operands, k);
        PyTuple_SetItem(arrays, k, kept(is_number(known, operand) ? operand : SLOT(operand, known->data_of_tensor)));
    }
    PyObject *out = compute(op, function, is_native, arrays, params);
    Py_DecRef(arrays);
    PyObject *result = out == NULL ? NULL : result_of(op, operands, params, out, within);
    Py_DecRef(within);
    return result;
}

/* Is this an argument that stands for itself in a dict? Zeros of both signs do not. */
static int is_key(const struct calls *known, PyObject *object)
{
    return object == known->none || PyLong_CheckExact(object) || PyBool_Check(object) || PyUnicode_CheckExact(object);
}

/* What eager/build.py knows canonical parameters by: (operator, arguments, their types, *items, *types of these). */
static PyObject *key_of(const struct direct *op, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t options = names == NULL ? 0 : PyTuple_Size(names);
    PyObject *key = PyTuple_New(3 + 2 * options), *values = PyTuple_New(count), *kinds = PyTuple_New(count);
    int is_whole = key != NULL && values != NULL && kinds != NULL;
    if (!is_whole) {
        Py_DecRef(key);
        Py_DecRef(values);
        Py_DecRef(kinds);
        return NULL;
    }
    PyTuple_SetItem(key, 0, kept(op->op));
    PyTuple_SetItem(key, 1, values);
    PyTuple_SetItem(key, 2, kinds);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyTuple_SetItem(values, k, kept(args[k]));
        PyTuple_SetItem(kinds, k, kept((PyObject *)Py_TYPE(args[k])));
    }
    for (Py_ssize_t k = 0; k < options && is_whole; k++) {
        PyObject *item = PyTuple_New(2);
        is_whole = item != NULL;
        if (is_whole) {
            PyTuple_SetItem(item, 0, kept(PyTuple_GetItem(names, k)));
            PyTuple_SetItem(item, 1, kept(args[count + k]));
            PyTuple_SetItem(key, 3 + k, item);
            PyTuple_SetItem(key, 3 + options + k, kept((PyObject *)Py_TYPE(args[count + k])));
        }
    }
    if (is_whole)
        return key;
    Py_DecRef(key);
    return NULL;
}

/* known(x, *args, **options): a direct call of one operand, whose canonical parameters have been found before */
PyObject *known(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *names)
{
    const struct direct *op = TABLE_OF(self);
    Py_ssize_t all = given + (names == NULL ? 0 : PyTuple_Size(names));
    if (given < 1 || Py_TYPE(args[0]) != op->known->tensor)
        return kept(op->known->none);
    for (Py_ssize_t k = 1; k < all; k++)
        if (!is_key(op->known, args[k]))
            return kept(op->known->none);
    PyObject *key = key_of(op, args + 1, given - 1, names);
    if (key == NULL)
        return NULL;
    PyObject *found = SLOT(SLOT(args[0], op->known->spec_of_tensor), op->known_of_spec);
    PyObject *params = PyDict_GetItemWithError(found, key), *result = NULL;
    Py_DecRef(key);
    if (params == NULL)
        return PyErr_Occurred() ? NULL : kept(op->known->none);
    struct nodes both = {{PyTuple_New(1), kept(params)}};
    if (both.each[0] != NULL) {
        PyTuple_SetItem(both.each[0], 0, kept(args[0]));
        result = direct(self, both.each, 2);
    }
    Py_DecRef(both.each[0]);
    Py_DecRef(both.each[1]);
    return result;
}
