/* Nodes that have to do with parts, in a backward pass that nobody watches (parts.py): what `visit_one` in
   tape/engine.py and tape/entries.py do for reads and assignments by a basic index, or by an array of positions, and for
   views of all elements. What is unusual or long is for Python to do: then no gradient has been changed yet. */

#include "pullback.h"
#include <string.h>

#define AXES 8    /* at most */
#define FEW 64    /* rows that are written here */
#define SHORT 512 /* elements up to which parts are added here and not by NumPy */

struct lengths { /* the text of an array would not be the same for all machines */
    npy_intp of[AXES];
};

struct part { /* of an array */
    char *data;
    int ndim;
    struct lengths dims, strides;
};

static PyObject *kept(PyObject *object)
{
    Py_IncRef(object);
    return object;
}

static int is_array(PyObject *object)
{
    return Py_TYPE(object) == &PyArray_Type;
}

/* An array of the numbers that are added here? */
static int is_plain(PyArrayObject *array)
{
    int type = PyArray_DESCR(array)->type_num;
    return (type == NPY_DOUBLE || type == NPY_FLOAT) && PyArray_ISNBO(PyArray_DESCR(array)->byteorder) &&
           (PyArray_FLAGS(array) & NPY_ARRAY_ALIGNED) && PyArray_NDIM(array) <= AXES;
}

static int is_writable(PyArrayObject *array)
{
    return is_plain(array) && (PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE);
}

static npy_intp size_of(const npy_intp *dims, int ndim)
{
    npy_intp size = 1;
    for (int k = 0; k < ndim; k++)
        size *= dims[k];
    return size;
}

/* Keep an axis, from `start` on in steps of `step`. */
static int keep_axis(struct part *part, npy_intp length, npy_intp stride)
{
    if (part->ndim == AXES)
        return 0;
    part->dims.of[part->ndim] = length;
    part->strides.of[part->ndim++] = stride;
    return 1;
}

/* What NumPy finds at a basic index; 0 if the index is something else, or out of range. */
static int find_part(const struct parts *known, PyArrayObject *whole, PyObject *key, struct part *part)
{
    int ndim = PyArray_NDIM(whole), axis = 0, taken = 0;
    const npy_intp *dims = PyArray_DIMS(whole), *strides = PyArray_STRIDES(whole);
    Py_ssize_t count = PyTuple_Size(key);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *item = PyTuple_GetItem(key, k);
        taken += item != known->none && item != known->ellipsis;
    }
    part->data = PyArray_DATA(whole);
    part->ndim = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *item = PyTuple_GetItem(key, k);
        if (item == known->none) {
            if (!keep_axis(part, 1, 0))
                return 0;
        } else if (item == known->ellipsis) {
            for (int span = ndim - taken; span > 0; span--, axis++)
                if (axis >= ndim || !keep_axis(part, dims[axis], strides[axis]))
                    return 0;
        } else if (axis >= ndim) {
            return 0;
        } else if (Py_TYPE(item) == known->integer) {
            Py_ssize_t place = PyLong_AsSsize_t(item);
            place += place < 0 ? dims[axis] : 0;
            if (place < 0 || place >= dims[axis]) {
                PyErr_Clear();
                return 0;
            }
            part->data += place * strides[axis++];
        } else if (Py_TYPE(item) == known->slice) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
                PyErr_Clear();
                return 0;
            }
            Py_ssize_t length = PySlice_AdjustIndices(dims[axis], &start, &stop, step);
            if (!keep_axis(part, length, step * strides[axis]))
                return 0;
            part->data += length ? start * strides[axis] : 0;
            axis++;
        } else {
            return 0;
        }
    }
    return axis == ndim;
}

/* to += from, or with `copies` to = from. */
static void add(char *to, const npy_intp *to_steps, const char *from, const npy_intp *from_steps, const npy_intp *dims,
                int ndim, int type, int copies)
{
    if (ndim > 1) {
        for (npy_intp k = 0; k < dims[0]; k++)
            add(to + k * to_steps[0], to_steps + 1, from + k * from_steps[0], from_steps + 1, dims + 1, ndim - 1, type,
                copies);
        return;
    }
    npy_intp length = ndim ? dims[0] : 1, to_step = ndim ? to_steps[0] : 0, from_step = ndim ? from_steps[0] : 0;
    if (type == NPY_DOUBLE)
        for (npy_intp k = 0; k < length; k++, to += to_step, from += from_step)
            *(double *)to = copies ? *(const double *)from : *(double *)to + *(const double *)from;
    else
        for (npy_intp k = 0; k < length; k++, to += to_step, from += from_step)
            *(float *)to = copies ? *(const float *)from : *(float *)to + *(const float *)from;
}

/* Is this an array that may be added to a buffer, and not a part of it? */
static int is_addend(PyArrayObject *gradient, PyArrayObject *buffer)
{
    return gradient != buffer && PyArray_BASE(gradient) != (PyObject *)buffer && is_plain(gradient) &&
           PyArray_DESCR(gradient)->type_num == PyArray_DESCR(buffer)->type_num;
}

static int is_true(PyObject *object, PyObject *name, const struct parts *known)
{
    PyObject *found = PyObject_GetAttr(object, name);
    if (found == NULL)
        PyErr_Clear();
    Py_DecRef(found);
    return found == known->true_;
}

static long number_at(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name);
    long number = found == NULL ? 0 : PyLong_AsLong(found);
    Py_DecRef(found);
    PyErr_Clear();
    return number;
}

/* Does a leaf want its gradient in a dtype of its own, or is this none? */
static int is_peculiar(const struct parts *known, PyObject *node)
{
    if (Py_TYPE(node) != known->sink)
        return 0;
    PyObject *leaf = PyObject_GetAttr(node, known->variable);
    PyObject *meta = leaf == NULL ? NULL : PyObject_GetAttr(leaf, known->meta);
    PyObject *dtype = meta == NULL || meta == known->none ? NULL : PyObject_GetAttr(meta, known->grad_dtype);
    int is_usual = meta == known->none || dtype == known->unset;
    Py_DecRef(leaf);
    Py_DecRef(meta);
    Py_DecRef(dtype);
    PyErr_Clear();
    return !is_usual;
}

/* Zeros for the gradient of a node; NULL if something is unusual. */
static PyArrayObject *zeros_for(const struct parts *known, PyObject *node)
{
    PyObject *spec = SLOT(node, known->spec_of_node);
    if (spec == known->none || is_peculiar(known, node))
        return NULL;
    PyObject *shape = PyObject_GetAttr(spec, known->shape), *dtype = PyObject_GetAttr(spec, known->dtype), *made = NULL;
    struct lengths dims;
    Py_ssize_t ndim = shape == NULL || dtype == NULL ? AXES + 1 : PyTuple_Size(shape);
    for (Py_ssize_t k = 0; k < ndim && ndim <= AXES; k++)
        dims.of[k] = PyLong_AsSsize_t(PyTuple_GetItem(shape, k));
    if (ndim <= AXES && !PyErr_Occurred())
        made = PyArray_Zeros((int)ndim, dims.of, (PyArray_Descr *)kept(dtype), 0);
    PyErr_Clear();
    Py_DecRef(shape);
    Py_DecRef(dtype);
    return (PyArrayObject *)made;
}

/* Where the gradient of what a node reads is added up, as a new reference: the buffer of the node behind. It is made if
   there is none yet; if the node behind waits for nothing else, it is what goes there, and `is_sole`. NULL if something
   is unusual. */
static PyArrayObject *buffer_behind(const struct parts *known, PyObject *entries, PyObject *node, int *is_sole)
{
    PyObject *behind = PyTuple_GetItem(SLOT(node, known->next_of_node), 0);
    PyObject *entry = behind == known->none ? NULL : PyDict_GetItemWithError(entries, behind);
    PyErr_Clear();
    if (entry == NULL || SLOT(behind, known->spec_of_node) != PyTuple_GetItem(SLOT(node, known->specs_of_part), 0))
        return NULL;
    *is_sole = entry == known->sole;
    if (*is_sole) /* a view may be of another one: Python looks for the whole */
        return number_at(behind, known->part_kind) || is_true(behind, known->shows_part, known) ? NULL : zeros_for(known, behind);
    PyObject *total = PyList_GetItem(entry, 1), *how = PyList_GetItem(entry, 2);
    if (how == known->own)
        return is_array(total) && is_writable((PyArrayObject *)total) ? (PyArrayObject *)kept(total) : NULL;
    PyArrayObject *made = how == known->one && total == known->none ? zeros_for(known, behind) : NULL;
    if (made != NULL) {
        PyList_SetItem(entry, 1, kept((PyObject *)made));
        PyList_SetItem(entry, 2, kept(known->own));
    }
    return made;
}

/* The part that a node reads of a whole in which all elements have their place; 0 if something is unusual. */
static int find_all(const struct parts *known, PyObject *node, PyArrayObject *whole, PyArrayObject *gradient, struct part *part)
{
    part->data = PyArray_DATA(whole);
    part->ndim = 0;
    if (number_at(node, known->part_kind) == IN_ORDER) {
        int lies_well = PyArray_FLAGS(whole) & PyArray_FLAGS(gradient) & NPY_ARRAY_C_CONTIGUOUS;
        npy_intp stride = PyArray_DESCR(whole)->type_num == NPY_DOUBLE ? 8 : 4, width = stride;
        for (int k = PyArray_NDIM(gradient) - 1; k >= 0; k--, width *= PyArray_DIMS(gradient)[k + 1]) {
            part->dims.of[k] = PyArray_DIMS(gradient)[k];
            part->strides.of[k] = width;
        }
        part->ndim = PyArray_NDIM(gradient);
        return lies_well && size_of(PyArray_DIMS(whole), PyArray_NDIM(whole)) == size_of(part->dims.of, part->ndim);
    }
    PyObject *axes = PyDict_GetItemWithError(SLOT(node, known->params_of_part), known->axes);
    Py_ssize_t count = axes == NULL || !PyTuple_Check(axes) ? -1 : PyTuple_Size(axes);
    for (Py_ssize_t k = 0; k < count; k++) {
        Py_ssize_t axis = PyLong_AsSsize_t(PyTuple_GetItem(axes, k));
        if (axis < 0 || axis >= PyArray_NDIM(whole) || !keep_axis(part, PyArray_DIMS(whole)[axis], PyArray_STRIDES(whole)[axis]))
            count = -1;
    }
    PyErr_Clear();
    return count == PyArray_NDIM(whole);
}

static PyObject *add_part(const struct parts *known, PyObject *entries, PyObject *node, PyArrayObject *gradient, int kind)
{
    int is_sole = 0, is_found = 0;
    PyArrayObject *buffer = buffer_behind(known, entries, node, &is_sole);
    struct part part;
    if (buffer != NULL && is_addend(gradient, buffer))
        is_found = kind == BY_INDEX ? find_part(known, buffer, SLOT(node, known->key_of_part), &part)
                                    : !is_sole && find_all(known, node, buffer, gradient, &part);
    PyObject *results = NULL;
    if (is_found && part.ndim == PyArray_NDIM(gradient) && size_of(part.dims.of, part.ndim) <= SHORT &&
        memcmp(part.dims.of, PyArray_DIMS(gradient), part.ndim * sizeof(npy_intp)) == 0) {
        add(part.data, part.strides.of, PyArray_DATA(gradient), PyArray_STRIDES(gradient), part.dims.of, part.ndim,
            PyArray_DESCR(buffer)->type_num, is_sole);
        results = is_sole ? PyTuple_Pack(1, buffer) : kept(known->counted);
    }
    Py_DecRef((PyObject *)buffer);
    return results;
}

/* Positions along the first axis of a whole, which an index names. */
struct rows {
    const int64_t *places;
    npy_intp count, length, width, bytes; /* of positions, of the axis, elements of a row, bytes of an element */
    int type, is_held;                    /* NumPy's number of a dtype; is the array that of a tensor? */
};

/* Is an array still what it was when a node kept it? */
static int is_as_kept(const struct parts *known, PyObject *epoch)
{
    if (epoch == known->none)
        return PyDict_Size(known->disturbed) == 0;
    PyObject *next = PyObject_GetAttr(epoch, known->next);
    Py_DecRef(next);
    return next == known->none;
}

/* The rows that a node has to do with; 0 if its index is another one than a short array of positions. */
static int find_rows(const struct parts *known, PyObject *node, PyArrayObject *whole, struct rows *rows)
{
    PyObject *epochs = PyObject_GetAttr(node, known->rest_epochs), *arrays = PyObject_GetAttr(node, known->rest_data);
    PyObject *template = PyDict_GetItemWithError(SLOT(node, known->params_of_part), known->template);
    PyArrayObject *array = NULL;
    if (epochs != NULL && arrays != NULL && template != NULL && PyTuple_Check(epochs) && PyTuple_Check(arrays) &&
        PyTuple_Size(arrays) == 1 && PyTuple_Size(template) == 1 && is_array(PyTuple_GetItem(arrays, 0))) {
        rows->is_held = PyTuple_Size(epochs) == 1;
        if (!rows->is_held || is_as_kept(known, PyTuple_GetItem(epochs, 0)))
            array = (PyArrayObject *)PyTuple_GetItem(arrays, 0); /* the node keeps the tuple */
    }
    PyErr_Clear();
    Py_DecRef(epochs);
    Py_DecRef(arrays);
    int lies_well = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (array == NULL || PyArray_NDIM(whole) == 0 || PyArray_DESCR(array)->type_num != known->position ||
        !PyArray_ISNBO(PyArray_DESCR(array)->byteorder) ||
        (PyArray_FLAGS(array) & PyArray_FLAGS(whole) & lies_well) != lies_well)
        return 0;
    rows->places = PyArray_DATA(array);
    rows->count = size_of(PyArray_DIMS(array), PyArray_NDIM(array));
    rows->length = PyArray_DIMS(whole)[0];
    rows->width = size_of(PyArray_DIMS(whole) + 1, PyArray_NDIM(whole) - 1);
    rows->type = PyArray_DESCR(whole)->type_num;
    rows->bytes = rows->type == NPY_DOUBLE ? 8 : 4;
    if (rows->count * rows->width > SHORT || PyArray_NDIM(array) + PyArray_NDIM(whole) - 1 > AXES)
        return 0;
    for (npy_intp k = 0; k < rows->count; k++)
        if (rows->places[k] < -rows->length || rows->places[k] >= rows->length)
            return 0;
    return 1;
}

static npy_intp place_of(const struct rows *rows, npy_intp k)
{
    return rows->places[k] + (rows->places[k] < 0 ? rows->length : 0);
}

/* One row += another, or = with `copies`. */
static void add_row(const struct rows *rows, char *to, npy_intp row, const char *from, npy_intp other, int copies)
{
    npy_intp bytes = rows->bytes, line = rows->width * bytes;
    add(to + row * line, &bytes, from + other * line, &bytes, &rows->width, 1, rows->type, copies);
}

/* What a node has kept of the array of a tensor is not needed any more. */
static void let_go(const struct parts *known, PyObject *task, PyObject *node, const struct rows *rows)
{
    if (rows->is_held && !is_true(task, known->keep_graph, known) &&
        PyObject_SetAttr(node, known->rest_data, known->none) < 0)
        PyErr_Clear();
}

static PyObject *add_rows(const struct parts *known, PyObject *task, PyObject *entries, PyObject *node, PyArrayObject *gradient)
{
    int is_sole = 0;
    PyArrayObject *buffer = buffer_behind(known, entries, node, &is_sole);
    struct rows rows;
    PyObject *results = NULL;
    if (buffer != NULL && is_addend(gradient, buffer) && (PyArray_FLAGS(gradient) & NPY_ARRAY_C_CONTIGUOUS) &&
        find_rows(known, node, buffer, &rows) &&
        size_of(PyArray_DIMS(gradient), PyArray_NDIM(gradient)) == rows.count * rows.width) {
        for (npy_intp k = 0; k < rows.count; k++)
            add_row(&rows, PyArray_DATA(buffer), place_of(&rows, k), PyArray_DATA(gradient), k, 0);
        let_go(known, task, node, &rows);
        results = is_sole ? PyTuple_Pack(1, buffer) : kept(known->counted);
    }
    Py_DecRef((PyObject *)buffer);
    return results;
}

/* Does the node behind an assigned value take a gradient as this part is? */
static int takes(const struct parts *known, PyObject *node, const struct part *part, PyArrayObject *whole)
{
    PyObject *spec = SLOT(node, known->spec_of_node);
    PyObject *shape = PyObject_GetAttr(spec, known->shape), *dtype = PyObject_GetAttr(spec, known->dtype);
    int fits = shape != NULL && dtype == (PyObject *)PyArray_DESCR(whole) && PyTuple_Size(shape) == part->ndim;
    for (int k = 0; fits && k < part->ndim; k++)
        fits = PyLong_AsSsize_t(PyTuple_GetItem(shape, k)) == part->dims.of[k];
    PyErr_Clear();
    Py_DecRef(shape);
    Py_DecRef(dtype);
    return fits;
}

/* The index of an assignment to an array in the usual order, borrowed; NULL if the write is another one. */
static PyObject *key_of_write(const struct parts *known, PyObject *node)
{
    int is_usual = SLOT(node, known->fn_of_write) == known->assigned && SLOT(node, known->order_of_write) == known->none;
    return is_usual ? SLOT(node, known->key_of_write) : NULL;
}

/* Let a node have a buffer that nobody else has: 1 if it does, and is only to be counted; 0 if it has something already. */
static int give(const struct parts *known, PyObject *entries, PyObject *node, PyObject *buffer)
{
    PyObject *entry = PyDict_GetItemWithError(entries, node);
    if (entry != NULL && entry != known->sole)
        return PyList_GetItem(entry, 1) == known->none && PyList_GetItem(entry, 2) == known->one &&
               PyList_SetItem(entry, 1, kept(buffer)) == 0 && PyList_SetItem(entry, 2, kept(known->own)) == 0;
    PyObject *outputs = entry == NULL ? NULL : PyObject_GetAttr(node, known->num_outputs);
    int is_one = outputs != NULL && PyLong_AsLong(outputs) == 1;
    Py_DecRef(outputs);
    PyErr_Clear();
    PyObject *made = is_one ? PyList_New(3) : NULL;
    if (made == NULL)
        return 0;
    PyList_SetItem(made, 0, PyLong_FromLong(1));
    PyList_SetItem(made, 1, kept(buffer));
    PyList_SetItem(made, 2, kept(known->own));
    int wrong = PyDict_SetItem(entries, node, made);
    Py_DecRef(made);
    return wrong == 0;
}

/* The gradient that comes to a write, as an array that may be written to: itself if it is the pass's own, or a copy. */
static PyArrayObject *own_copy(const struct parts *known, PyObject *entries, PyObject *node, PyObject *gradient)
{
    PyArrayObject *array = (PyArrayObject *)gradient;
    PyObject *entry = PyDict_GetItemWithError(entries, node);
    if (entry == NULL || !is_plain(array)) {
        PyErr_Clear();
        return NULL;
    }
    if (entry != known->sole && PyList_GetItem(entry, 2) == known->own) {
        int is_ours = is_writable(array) && (PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS);
        return is_ours ? (PyArrayObject *)kept(gradient) : NULL;
    }
    return (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
}

/* What a write gives: a tuple of as many gradients as there are nodes behind, of which the second is new, or NULL. */
static PyObject *results_of(const struct parts *known, PyObject *next, PyArrayObject *whole, const struct part *part)
{
    Py_ssize_t count = PyTuple_Size(next);
    PyObject *results = PyTuple_New(count), *given = known->none;
    int is_wanted = PyTuple_GetItem(next, 1) != known->none;
    Py_IncRef(is_wanted ? (PyObject *)PyArray_DESCR(whole) : given);
    if (is_wanted)
        given = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(whole), part->ndim, (npy_intp *)part->dims.of, NULL,
                                     NULL, 0, NULL);
    if (results == NULL || given == NULL) {
        PyErr_Clear();
        Py_DecRef(results);
        Py_DecRef(given);
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++)
        PyTuple_SetItem(results, k, k == 1 ? given : kept(known->none));
    return results;
}

static void clear(const struct part *part, int type)
{
    double zero = 0;
    struct lengths still = {{0}};
    add(part->data, part->strides.of, (const char *)&zero, still.of, part->dims.of, part->ndim, type, 1);
}

/* An assignment to a part: the gradients that it gives, or NULL. */
static PyObject *move_on(const struct parts *known, PyObject *task, PyObject *entries, PyObject *node, PyArrayObject *whole)
{
    PyObject *next = SLOT(node, known->next_of_node), *key = key_of_write(known, node);
    PyObject *behind = PyTuple_GetItem(next, 0), *value = PyTuple_GetItem(next, 1), *results = NULL;
    struct part part;
    if (key != NULL && behind != known->none && find_part(known, whole, key, &part) &&
        size_of(part.dims.of, part.ndim) <= SHORT && (value == known->none || takes(known, value, &part, whole)))
        results = results_of(known, next, whole, &part);
    if (results == NULL || !give(known, entries, behind, (PyObject *)whole)) {
        Py_DecRef(results);
        return NULL;
    }
    int type = PyArray_DESCR(whole)->type_num;
    if (value != known->none) {
        PyArrayObject *given = (PyArrayObject *)PyTuple_GetItem(results, 1);
        add(PyArray_DATA(given), PyArray_STRIDES(given), part.data, part.strides.of, part.dims.of, part.ndim, type, 1);
    }
    clear(&part, type);
    if (!is_true(task, known->keep_graph, known)) {
        PyObject *done = PyObject_CallMethodObjArgs(node, known->release, NULL);
        Py_DecRef(done);
        if (done == NULL)
            PyErr_Clear();
    }
    return results;
}

/* An assignment to rows: the gradients that it gives, or NULL. Of several values for one row the last one stays. */
static PyObject *take_out(const struct parts *known, PyObject *task, PyObject *entries, PyObject *node, PyArrayObject *whole)
{
    PyObject *next = SLOT(node, known->next_of_node), *params = SLOT(node, known->params_of_part), *results = NULL;
    PyObject *behind = PyTuple_GetItem(next, 0), *value = PyTuple_GetItem(next, 1);
    PyObject *accumulate = PyDict_GetItemWithError(params, known->accumulate);
    struct rows rows;
    struct part part = {.ndim = 0};
    if (accumulate != known->false_ || behind == known->none || !find_rows(known, node, whole, &rows) ||
        rows.count > FEW)
        return NULL;
    if (value != known->none) {
        PyObject *arrays = PyObject_GetAttr(node, known->rest_data);
        PyArrayObject *array = (PyArrayObject *)PyTuple_GetItem(arrays, 0);
        for (int k = 0; k < PyArray_NDIM(array); k++)
            keep_axis(&part, PyArray_DIMS(array)[k], 0);
        for (int k = 1; k < PyArray_NDIM(whole); k++)
            keep_axis(&part, PyArray_DIMS(whole)[k], 0);
        Py_DecRef(arrays);
        if (!takes(known, value, &part, whole))
            return NULL;
    }
    results = results_of(known, next, whole, &part);
    if (results == NULL || !give(known, entries, behind, (PyObject *)whole)) {
        Py_DecRef(results);
        return NULL;
    }
    char *data = PyArray_DATA(whole);
    struct part row = {.ndim = 1, .dims = {{rows.width}}, .strides = {{rows.bytes}}};
    for (npy_intp k = rows.count - 1; k >= 0; k--) {
        row.data = data + place_of(&rows, k) * rows.width * rows.bytes;
        if (value != known->none) /* what a later value has written is 0 by now */
            add_row(&rows, PyArray_DATA((PyArrayObject *)PyTuple_GetItem(results, 1)), k, row.data, 0, 1);
        clear(&row, rows.type);
    }
    let_go(known, task, node, &rows);
    return results;
}

static PyObject *visit_write(const struct parts *known, PyObject *task, PyObject *entries, PyObject *node, PyObject *gradient,
                             int kind)
{
    int is_part = kind == TO_INDEX;
    PyArrayObject *whole = is_part && key_of_write(known, node) == NULL ? NULL : own_copy(known, entries, node, gradient);
    if (whole == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *results = (is_part ? move_on : take_out)(known, task, entries, node, whole);
    Py_DecRef((PyObject *)whole);
    return results;
}

/* visit(task, entries, node, box, general): the gradients that a node makes of the one in the box, the nodes they go to,
   and the numbers of outputs there. */
PyObject *visit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct parts *known = TABLE_OF(self);
    PyObject *task = args[0], *entries = args[1], *node = args[2], *gradient = PyList_GetItem(args[3], 0);
    PyObject *wanted = PyObject_GetAttr(task, known->visit);
    int is_usual = wanted == known->none && SLOT(node, known->rare_of_node) == known->none && is_array(gradient);
    Py_DecRef(wanted);
    PyErr_Clear();
    PyObject *results = NULL;
    int kind = is_usual ? (int)number_at(node, known->part_kind) : 0;
    if (kind == TO_INDEX || kind == TO_PLACES)
        results = visit_write(known, task, entries, node, gradient, kind);
    else if (kind == BY_PLACES)
        results = add_rows(known, task, entries, node, (PyArrayObject *)gradient);
    else if (kind)
        results = add_part(known, entries, node, (PyArrayObject *)gradient, kind);
    if (PyErr_Occurred()) {
        Py_DecRef(results);
        return NULL;
    }
    if (results == NULL)
        return PyObject_Vectorcall(known->slow, args, count, NULL);
    PyObject *found = PyTuple_New(3);
    if (found == NULL) {
        Py_DecRef(results);
        return NULL;
    }
    PyTuple_SetItem(found, 0, results);
    PyTuple_SetItem(found, 1, kept(SLOT(node, known->next_of_node)));
    PyTuple_SetItem(found, 2, kept(known->none));
    return found;
}
