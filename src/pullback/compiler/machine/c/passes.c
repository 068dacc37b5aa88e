/* A backward pass that nobody watches (passes.py): `prepare` and `loop` do what `_prepare` and `_loop` in tape/engine.py
   do, with the same entries, in the same order. What is unusual about a node is for Python to see to.

   A function here owns every reference that it holds across a call of Python, and returns -1 or NULL for an exception. */

#include "pullback.h"
#include <stdlib.h>
#include <string.h>

#include "steps.h"

#define SHORT 512 /* elements up to which gradients are added here and not by NumPy */

struct arguments { /* of a call; the text of an array would not be the same for all machines */
    PyObject *each[5];
};

static PyObject *kept(PyObject *object)
{
    Py_IncRef(object);
    return object;
}

/* Put an object, whose reference is taken over, in the place of another one. */
static void put(PyObject **place, PyObject *object)
{
    PyObject *old = *place;
    *place = object;
    Py_DecRef(old);
}

/* Counting ---------------------------------------------------------------------------------------------------------- */

static int count_edge(const struct passes *known, PyObject *entries, PyObject *node, PyObject *found)
{
    PyObject *entry = PyDict_GetItemWithError(entries, node);
    if (entry == NULL) {
        if (PyErr_Occurred() || PyDict_SetItem(entries, node, known->sole) < 0)
            return -1;
        return PyList_Append(found, SLOT(node, known->next_of_node));
    }
    if (entry != known->sole) {
        long waits = PyLong_AsLong(PyList_GetItem(entry, 0));
        PyObject *number = PyLong_FromLong(waits + 1);
        return number == NULL ? -1 : PyList_SetItem(entry, 0, number);
    }
    PyObject *outputs = PyObject_GetAttr(node, known->num_outputs);
    if (outputs == NULL)
        return -1;
    int is_one = PyLong_AsLong(outputs) == 1;
    Py_DecRef(outputs);
    PyObject *made = PyList_New(3), *number = PyLong_FromLong(2);
    if (made == NULL || number == NULL) {
        Py_DecRef(made);
        Py_DecRef(number);
        return -1;
    }
    PyList_SetItem(made, 0, number);
    PyList_SetItem(made, 1, kept(known->none));
    PyList_SetItem(made, 2, kept(is_one ? known->one : known->list));
    int wrong = PyDict_SetItem(entries, node, made);
    Py_DecRef(made);
    return wrong;
}

/* prepare(nodes, entries): count for every node behind `nodes` how many gradients it has to wait for. */
PyObject *prepare(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct passes *known = TABLE_OF(self);
    (void)count;
    PyObject *found = PyList_New(0); /* grows while it is read */
    if (found == NULL || PyList_Append(found, args[0]) < 0) {
        Py_DecRef(found);
        return NULL;
    }
    for (Py_ssize_t k = 0; k < PyList_Size(found); k++) {
        PyObject *nodes = PyList_GetItem(found, k);
        Py_ssize_t length = PyTuple_Size(nodes);
        for (Py_ssize_t i = 0; i < length; i++) {
            PyObject *node = PyTuple_GetItem(nodes, i);
            if (node != known->none && count_edge(known, args[1], node, found) < 0) {
                Py_DecRef(found);
                return NULL;
            }
        }
    }
    Py_DecRef(found);
    return kept(known->none);
}

/* Sums -------------------------------------------------------------------------------------------------------------- */

static int is_array(PyObject *object)
{
    return Py_TYPE(object) == &PyArray_Type;
}

static npy_intp size_of(PyArrayObject *array)
{
    npy_intp size = 1;
    for (int k = 0; k < PyArray_NDIM(array); k++)
        size *= PyArray_DIMS(array)[k];
    return size;
}

/* Are these arrays short, of one shape and one dtype that is added here, and row by row? */
static int are_alike(PyArrayObject *a, PyArrayObject *b)
{
    int lies_well = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, type = PyArray_DESCR(a)->type_num;
    return PyArray_NDIM(a) == PyArray_NDIM(b) && type == PyArray_DESCR(b)->type_num &&
           (type == NPY_DOUBLE || type == NPY_FLOAT) && PyArray_ISNBO(PyArray_DESCR(a)->byteorder) &&
           PyArray_ISNBO(PyArray_DESCR(b)->byteorder) && (PyArray_FLAGS(a) & PyArray_FLAGS(b) & lies_well) == lies_well &&
           memcmp(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a) * sizeof(npy_intp)) == 0 && size_of(a) <= SHORT;
}

static void add_elements(PyArrayObject *a, PyArrayObject *b, PyArrayObject *out)
{
    npy_intp size = size_of(a);
    if (PyArray_DESCR(a)->type_num == NPY_DOUBLE) {
        const double *x = PyArray_DATA(a), *y = PyArray_DATA(b);
        double *z = PyArray_DATA(out);
        for (npy_intp k = 0; k < size; k++)
            z[k] = x[k] + y[k];
    } else {
        const float *x = PyArray_DATA(a), *y = PyArray_DATA(b);
        float *z = PyArray_DATA(out);
        for (npy_intp k = 0; k < size; k++)
            z[k] = x[k] + y[k];
    }
}

/* total += gradient, where `total` is the pass's own. */
static int add_in_place(const struct passes *known, PyObject *total, PyObject *gradient)
{
    PyArrayObject *a = (PyArrayObject *)total, *b = (PyArrayObject *)gradient;
    if (is_array(total) && are_alike(a, b) && (PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE)) {
        const char *first = PyArray_DATA(a), *second = PyArray_DATA(b);
        npy_intp bytes = size_of(a) * (PyArray_DESCR(a)->type_num == NPY_DOUBLE ? 8 : 4);
        if (first + bytes <= second || second + bytes <= first) {
            add_elements(a, b, a);
            return 0;
        }
    }
    PyObject *add = PyObject_GetAttr(known->sums, known->add);
    if (add == NULL)
        return -1;
    struct arguments given = {{total, gradient, total}};
    Py_IncRef(total);
    PyObject *sum = PyObject_Vectorcall(add, given.each, 3, NULL);
    Py_DecRef(total);
    Py_DecRef(add);
    Py_DecRef(sum);
    return sum == NULL ? -1 : 0;
}

/* What `add_new` does for two short arrays: 1 if it was done. */
static int add_short(const struct passes *known, PyObject *entry, PyObject *gradient)
{
    PyObject *total = PyList_GetItem(entry, 1);
    if (!is_array(total) || !is_array(gradient) || !are_alike((PyArrayObject *)total, (PyArrayObject *)gradient))
        return 0;
    PyArrayObject *a = (PyArrayObject *)total;
    Py_IncRef((PyObject *)PyArray_DESCR(a));
    PyObject *sum = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
    if (sum == NULL)
        return -1;
    add_elements(a, (PyArrayObject *)gradient, (PyArrayObject *)sum);
    PyList_SetItem(entry, 1, sum);
    PyList_SetItem(entry, 2, kept(known->own));
    return 1;
}

/* Formulas ---------------------------------------------------------------------------------------------------------- */

/* Is this a short array of one of the dtypes that are computed with here? */
static int is_short(PyArrayObject *array)
{
    int type = PyArray_DESCR(array)->type_num;
    return (type == NPY_DOUBLE || type == NPY_FLOAT) && PyArray_ISNBO(PyArray_DESCR(array)->byteorder) &&
           PyArray_NDIM(array) <= MOST_AXES && size_of(array) <= SHORT && is_in_order(array);
}

static int is_of_shape(PyArrayObject *array, const struct values *values)
{
    return PyArray_NDIM(array) == values->ndim &&
           memcmp(PyArray_DIMS(array), values->lengths, values->ndim * sizeof(npy_intp)) == 0;
}

/* Is this an array that steps can read beside the gradient? */
static int is_like(PyArrayObject *gradient, PyObject *object, struct values *values, struct steps *steps)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!is_array(object) || !is_short(array) || PyArray_DESCR(array)->type_num != PyArray_DESCR(gradient)->type_num)
        return 0;
    values->is_flat = values->is_flat && is_contiguous(array) && is_of_shape(array, values);
    return find_steps(steps, values->ndim, values->lengths, array);
}

/* Let steps read the gradient. That of a sum has one element for all. */
static int read_gradient(PyArrayObject *gradient, struct values *values)
{
    if (!is_short(gradient))
        return 0;
    values->is_flat = 1;
    values->ndim = PyArray_NDIM(gradient);
    values->each[G] = PyArray_DATA(gradient);
    memcpy(values->lengths, PyArray_DIMS(gradient), values->ndim * sizeof(npy_intp));
    for (int k = 0; k < values->ndim && !is_contiguous(gradient); k++)
        values->is_flat = values->is_flat && (values->lengths[k] == 1 || PyArray_STRIDES(gradient)[k] == 0);
    return find_steps(&values->of_g, values->ndim, values->lengths, gradient);
}

/* When all is read: how everything is gone through. */
static void find_way(PyArrayObject *gradient, struct values *values)
{
    npy_intp width = PyArray_DESCR(gradient)->type_num == NPY_DOUBLE ? 8 : 4;
    if (!values->is_flat) {
        lay_out(values, width);
        return;
    }
    join_axes(values, size_of(gradient), width);
    values->of_g = is_contiguous(gradient) ? values->full : values->none;
    values->of_x = values->is_x ? values->full : values->none;
    values->of_y = values->is_y ? values->full : values->none;
}

/* Let steps read a saved operand: 0 if it is not to be read just so. */
static int read_operand(const struct passes *known, PyObject *node, const struct formula *formula, int which,
                        PyArrayObject *gradient, struct values *values)
{
    int64_t data = which == 0 ? formula->x_data : formula->y_data;
    if (data == 0)
        return 1;
    PyObject *saved = SLOT(node, data), *epoch = SLOT(node, which == 0 ? formula->x_epoch : formula->y_epoch);
    int type = PyArray_DESCR(gradient)->type_num;
    if (epoch != known->unwritten) {
        if ((epoch != known->none && SLOT(epoch, known->next_of_epoch) != known->none) ||
            !is_like(gradient, saved, values, which == 0 ? &values->of_x : &values->of_y))
            return 0;
        *(which == 0 ? &values->is_x : &values->is_y) = 1;
        values->each[X + which] = PyArray_DATA((PyArrayObject *)saved);
    } else if (is_array(saved)) { /* a number */
        PyArrayObject *number = (PyArrayObject *)saved;
        if (PyArray_NDIM(number) != 0 || PyArray_DESCR(number)->type_num != type)
            return 0;
        values->each[X + which] = PyArray_DATA(number);
    } else if (PyFloat_CheckExact(saved)) {
        values->wide[which] = PyFloat_AsDouble(saved);
        values->narrow[which] = (float)values->wide[which];
        values->each[X + which] = (char *)&values->narrow[which];
        if (type == NPY_DOUBLE)
            values->each[X + which] = (char *)&values->wide[which];
    } else if (saved != known->none) {
        return 0;
    }
    return 1;
}

static PyObject *computed(const struct formula *formula, int64_t begin, PyArrayObject *gradient, const struct values *values)
{
    Py_IncRef((PyObject *)PyArray_DESCR(gradient));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(gradient), PyArray_NDIM(gradient),
                                          PyArray_DIMS(gradient), NULL, NULL, 0, NULL);
    if (made != NULL)
        take_steps(formula->rest, begin, values, made);
    return made;
}

/* One gradient: None if it is not wanted. */
static PyObject *pulled(const struct passes *known, const struct formula *formula, PyObject *node, PyObject *behind,
                        int64_t begin, PyObject *gradient, struct values *values)
{
    if (behind == known->none)
        return kept(behind);
    PyObject *found = begin == SAME ? kept(gradient) : computed(formula, begin, (PyArrayObject *)gradient, values);
    if (found == NULL || !formula->is_loose || SLOT(behind, known->spec_of_node) == SLOT(node, known->spec_of_node))
        return found;
    struct arguments given = {{found, behind}};
    PyObject *fitted = PyObject_Vectorcall(known->fitted, given.each, 2, NULL);
    Py_DecRef(found);
    return fitted;
}

/* Forget what a node has saved. */
static void release(const struct passes *known, PyObject *node, int64_t data, int64_t epoch)
{
    if (data != 0 && (epoch == 0 ? SLOT(node, data) != known->not_saved : SLOT(node, epoch) != known->unwritten))
        put(&SLOT(node, data), kept(known->none));
}

/* The gradient of a sum or a mean is a share of that of the result, for every element. None if that is for Python to do. */
static PyObject *pull_sum(const struct passes *known, PyObject *node, const struct formula *formula, PyArrayObject *g)
{
    struct values values;
    memset(&values, 0, sizeof values);
    PyObject *spec = PyTuple_GetItem(SLOT(node, known->specs_of_node), 0), *shape = SLOT(spec, known->shape_of_spec);
    PyObject *axis = PyDict_GetItemWithError(SLOT(node, known->params_of_node), known->axis);
    Py_ssize_t ndim = PyTuple_Size(shape);
    if (axis == NULL || !PyTuple_Check(axis) || ndim > MOST_AXES || !is_short(g) ||
        SLOT(spec, known->dtype_of_spec) != (PyObject *)PyArray_DESCR(g))
        return PyErr_Occurred() ? NULL : kept(known->none);
    struct steps is_reduced;
    memset(&is_reduced, 0, sizeof is_reduced);
    for (Py_ssize_t k = 0; k < PyTuple_Size(axis); k++)
        is_reduced.each[PyLong_AsLong(PyTuple_GetItem(axis, k))] = 1;
    values.ndim = (int)ndim;
    values.each[G] = PyArray_DATA(g);
    int of_g = 0, keeps = PyArray_NDIM(g) == ndim;
    for (Py_ssize_t k = 0; k < ndim; k++) {
        values.lengths[k] = PyLong_AsSsize_t(PyTuple_GetItem(shape, k));
        values.of_g.each[k] = is_reduced.each[k] || values.lengths[k] == 1 ? 0 : PyArray_STRIDES(g)[of_g];
        of_g += keeps || !is_reduced.each[k];
    }
    int is_double = PyArray_DESCR(g)->type_num == NPY_DOUBLE;
    npy_intp size = of_g != PyArray_NDIM(g) ? SHORT + 1 : lay_out(&values, is_double ? 8 : 4);
    if (size == 0 || size > SHORT)
        return kept(known->none);
    values.wide[0] = (double)(size / size_of(g)); /* the number of elements of a sum */
    values.narrow[0] = (float)values.wide[0];
    values.each[X] = (char *)&values.narrow[0];
    if (is_double)
        values.each[X] = (char *)&values.wide[0];
    Py_IncRef((PyObject *)PyArray_DESCR(g));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(g), (int)ndim, values.lengths, NULL, NULL, 0, NULL);
    PyObject *results = made == NULL ? NULL : PyTuple_New(1);
    if (results == NULL) {
        Py_DecRef(made);
        return NULL;
    }
    take_steps(formula->rest, is_double ? formula->x_double : formula->x_float, &values, made);
    PyTuple_SetItem(results, 0, made);
    return results;
}

/* The gradients of a node as a tuple; None if that is for its formula in Python to do. */
static PyObject *pull_natively(const struct passes *known, PyObject *node, PyObject *table, PyObject *gradient, int keep)
{
    const struct formula *formula = PyArray_DATA((PyArrayObject *)table);
    PyArrayObject *g = (PyArrayObject *)gradient;
    PyObject *next = SLOT(node, known->next_of_node);
    struct values values;
    if (formula->is_sum)
        return pull_sum(known, node, formula, g);
    memset(&values, 0, sizeof values);
    if (!read_gradient(g, &values) || PyDict_Size(known->disturbed) != 0 || PyTuple_Size(next) != formula->operands)
        return kept(known->none);
    int is_double = PyArray_DESCR(g)->type_num == NPY_DOUBLE;
    int64_t x = is_double ? formula->x_double : formula->x_float, y = is_double ? formula->y_double : formula->y_float;
    PyObject *behind_x = PyTuple_GetItem(next, 0), *behind_y = formula->operands == 2 ? PyTuple_GetItem(next, 1) : known->none;
    if ((x == ABSENT && behind_x != known->none) || (y == ABSENT && behind_y != known->none))
        return kept(known->none);

    if (!read_operand(known, node, formula, 0, g, &values) || !read_operand(known, node, formula, 1, g, &values))
        return kept(known->none);
    if (formula->out_data != 0) {
        PyObject *out = SLOT(node, formula->out_data);
        if (out != known->not_saved) {
            struct steps steps;
            if (!is_like(g, out, &values, &steps) || !is_contiguous((PyArrayObject *)out) ||
                !is_of_shape((PyArrayObject *)out, &values))
                return kept(known->none);
            values.each[OUT] = PyArray_DATA((PyArrayObject *)out);
        }
    }
    find_way(g, &values);
    give_room(&values, __builtin_alloca_with_align(MOST_TEMPORARIES * SHORT * 8, 8 * 64), SHORT * 8);

    PyObject *results = PyTuple_New(formula->operands);
    PyObject *g_x = results == NULL ? NULL : pulled(known, formula, node, behind_x, x, gradient, &values);
    PyObject *g_y = NULL;
    if (g_x != NULL && formula->operands == 2)
        g_y = pulled(known, formula, node, behind_y, y, gradient, &values);
    if (g_x == NULL || (g_y == NULL && formula->operands == 2)) {
        Py_DecRef(results);
        Py_DecRef(g_x);
        return NULL;
    }
    PyTuple_SetItem(results, 0, g_x);
    if (g_y != NULL)
        PyTuple_SetItem(results, 1, g_y);
    if (!keep) {
        release(known, node, formula->x_data, formula->x_epoch);
        release(known, node, formula->y_data, formula->y_epoch);
        release(known, node, formula->out_data, 0);
    }
    return results;
}

/* The table of a class of nodes, borrowed: None if it has none. */
static PyObject *formula_of(const struct passes *known, PyObject *node)
{
    PyObject *type = (PyObject *)Py_TYPE(node), *found = PyDict_GetItemWithError(known->formulas, type);
    if (found != NULL || PyErr_Occurred())
        return found;
    found = PyObject_Vectorcall(known->learn, &type, 1, NULL); /* which keeps what it finds */
    Py_DecRef(found);
    return found;
}

/* The pass ---------------------------------------------------------------------------------------------------------- */

struct waiting { /* a node that has all its gradients */
    uint64_t seq, stamp;
    PyObject *node, *gradient;
};

struct pass {
    const struct passes *known;
    PyObject *task, *entries, *visit, *targets, *keep, *general; /* the caller's */
    PyObject *arrived, *successors, *numbers;                   /* gradients, where they go, and to which outputs */
    PyObject *leaves;                                           /* pairs of a sink and its gradient */
    struct waiting *ready, at_hand;                             /* a heap, the newest node first; the next one to run */
    int64_t count, room;
    uint64_t stamps;
};

static int is_before(const struct waiting *a, const struct waiting *b)
{
    return a->seq != b->seq ? a->seq > b->seq : a->stamp < b->stamp;
}

static int push(struct pass *pass, const struct waiting *new)
{
    if (pass->count == pass->room) {
        int64_t room = pass->room ? 2 * pass->room : 16;
        struct waiting *more = realloc(pass->ready, room * sizeof *more);
        if (more == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        pass->ready = more;
        pass->room = room;
    }
    int64_t place = pass->count++;
    for (; place > 0 && is_before(new, &pass->ready[(place - 1) / 2]); place = (place - 1) / 2)
        pass->ready[place] = pass->ready[(place - 1) / 2];
    pass->ready[place] = *new;
    return 0;
}

static void pop(struct pass *pass, struct waiting *first)
{
    *first = pass->ready[0];
    struct waiting last = pass->ready[--pass->count];
    int64_t place = 0, below;
    while ((below = 2 * place + 1) < pass->count) {
        if (below + 1 < pass->count && is_before(&pass->ready[below + 1], &pass->ready[below]))
            below++;
        if (!is_before(&pass->ready[below], &last))
            break;
        pass->ready[place] = pass->ready[below];
        place = below;
    }
    if (pass->count > 0)
        pass->ready[place] = last;
}

/* A node has all its gradients. The reference to `gradient` is taken over. */
static int make_ready(struct pass *pass, PyObject *node, PyObject *gradient)
{
    const struct passes *known = pass->known;
    if (Py_TYPE(node) == known->sink) {
        PyObject *pair = PyTuple_New(2);
        if (pair == NULL) {
            Py_DecRef(gradient);
            return -1;
        }
        PyTuple_SetItem(pair, 0, kept(node));
        PyTuple_SetItem(pair, 1, gradient);
        int wrong = PyList_Append(pass->leaves, pair);
        Py_DecRef(pair);
        return wrong;
    }
    uint64_t seq = PyLong_AsUnsignedLongLong(SLOT(node, known->seq_of_node));
    if (seq == (uint64_t)-1 && PyErr_Occurred()) {
        Py_DecRef(gradient);
        return -1;
    }
    struct waiting new = {seq, pass->stamps++, kept(node), gradient};
    if (pass->at_hand.node == NULL) {
        pass->at_hand = new;
        return 0;
    }
    if (push(pass, &new) == 0)
        return 0;
    Py_DecRef(node);
    Py_DecRef(gradient);
    return -1;
}

/* Add a gradient to what a node has that waits for several. */
static int add_to_entry(struct pass *pass, PyObject *entry, PyObject *node, Py_ssize_t position, PyObject *gradient)
{
    const struct passes *known = pass->known;
    PyObject *total = PyList_GetItem(entry, 1), *how = PyList_GetItem(entry, 2);
    if (how == known->own && is_array(gradient))
        return add_in_place(known, total, gradient);
    if (total == known->none && how == known->one)
        return PyList_SetItem(entry, 1, kept(gradient));
    if (how != known->list) {
        int done = add_short(known, entry, gradient);
        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    PyObject *number = pass->numbers == known->none ? PyLong_FromLong(0) : kept(PyTuple_GetItem(pass->numbers, position));
    PyObject *create = PyBool_FromLong(0);
    struct arguments given = {{entry, node, number, gradient, create}};
    PyObject *done = number == NULL ? NULL : PyObject_Vectorcall(known->add_new, given.each, 5, NULL);
    Py_DecRef(number);
    Py_DecRef(create);
    Py_DecRef(done);
    return done == NULL ? -1 : 0;
}

/* Hand a gradient, whose reference is taken over, to the node at this place among the successors. */
static int hand_on(struct pass *pass, Py_ssize_t position, PyObject *gradient)
{
    const struct passes *known = pass->known;
    PyObject *node = PyTuple_GetItem(pass->successors, position);
    PyObject *entry = node == known->none ? NULL : PyDict_GetItemWithError(pass->entries, node);
    if (entry == NULL) {
        Py_DecRef(gradient);
        return node != known->none && PyErr_Occurred() ? -1 : 0;
    }
    if (entry == known->sole) {
        PyObject *number = pass->numbers == known->none ? NULL : PyTuple_GetItem(pass->numbers, position);
        if (number != NULL && (gradient == known->none || PyLong_AsLong(number) != 0)) {
            struct arguments given = {{node, number, gradient}};
            put(&gradient, PyObject_Vectorcall(known->at_output, given.each, 3, NULL));
            if (gradient == NULL)
                return -1;
        }
        return make_ready(pass, node, gradient);
    }
    Py_IncRef(entry);
    int wrong = gradient == known->none ? 0 : add_to_entry(pass, entry, node, position, gradient);
    Py_DecRef(gradient);
    if (wrong == 0) {
        long remaining = PyLong_AsLong(PyList_GetItem(entry, 0)) - 1;
        if (remaining != 0) {
            PyObject *number = PyLong_FromLong(remaining);
            wrong = number == NULL ? -1 : PyList_SetItem(entry, 0, number);
        } else {
            PyObject *total = kept(PyList_GetItem(entry, 1));
            PyList_SetItem(entry, 1, kept(known->none));
            wrong = make_ready(pass, node, total);
        }
    }
    Py_DecRef(entry);
    return wrong;
}

static int hand_all_on(struct pass *pass)
{
    PyObject *arrived = pass->arrived;
    int is_tuple = PyTuple_Check(arrived);
    Py_ssize_t count = is_tuple ? PyTuple_Size(arrived) : PyList_Size(arrived);
    for (Py_ssize_t k = 0; k < count; k++)
        if (hand_on(pass, k, kept(is_tuple ? PyTuple_GetItem(arrived, k) : PyList_GetItem(arrived, k))) < 0)
            return -1;
    pass->arrived = NULL;
    Py_DecRef(arrived);
    return 0;
}

static int visit_leaves(struct pass *pass)
{
    PyObject *leaves = pass->leaves;
    if (PyList_Size(leaves) == 0)
        return 0;
    pass->leaves = PyList_New(0);
    if (pass->leaves == NULL) {
        pass->leaves = leaves;
        return -1;
    }
    struct arguments given = {{pass->task, leaves, pass->known->true_, pass->general}};
    PyObject *done = PyObject_Vectorcall(pass->known->visit_leaves, given.each, 4, NULL);
    Py_DecRef(leaves);
    Py_DecRef(done);
    return done == NULL ? -1 : 0;
}

/* Does a pass that is restricted want this node's formula, and the gradient of every input? */
static int is_wanted_whole(struct pass *pass, PyObject *node)
{
    if (pass->visit == pass->known->none)
        return 1;
    int is_target = PyDict_Contains(pass->targets, node);
    if (is_target != 0)
        return is_target < 0 ? -1 : 0;
    Py_ssize_t count = PyTuple_Size(pass->successors);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *behind = PyTuple_GetItem(pass->successors, k);
        int is_visited = behind == pass->known->none ? 1 : PySet_Contains(pass->visit, behind);
        if (is_visited <= 0)
            return is_visited;
    }
    return 1;
}

/* Is the node at hand one whose compiled formula may be called just so? */
static int is_plain(struct pass *pass)
{
    PyObject *node = pass->at_hand.node;
    if (SLOT(node, pass->known->rare_of_node) != pass->known->none || !is_array(pass->at_hand.gradient))
        return 0;
    PyObject *is_fast = PyObject_GetAttr(node, pass->known->is_fast);
    if (is_fast == NULL)
        return -1;
    Py_DecRef(is_fast);
    return is_fast == pass->known->true_ ? is_wanted_whole(pass, node) : 0;
}

/* Run the node at hand: what arrives then, and where it goes. */
static int visit(struct pass *pass)
{
    const struct passes *known = pass->known;
    PyObject *node = pass->at_hand.node, *gradient = pass->at_hand.gradient;
    put(&pass->successors, kept(SLOT(node, known->next_of_node)));
    int plain = is_plain(pass);
    if (plain < 0)
        return -1;
    if (plain) {
        PyObject *table = formula_of(known, node);
        if (table == NULL || PyErr_CheckSignals() < 0)
            return -1;
        if (table != known->none)
            pass->arrived = pull_natively(known, node, table, gradient, pass->keep == known->true_);
        if (table == known->none || pass->arrived == known->none) {
            struct arguments given = {{node, gradient, pass->keep}};
            put(&pass->arrived, PyObject_VectorcallMethod(known->pull, given.each, 3, NULL));
        }
        put(&pass->numbers, kept(known->none));
    } else { /* Python takes the gradient out of a list, so that nobody else holds it */
        PyObject *box = PyList_New(1);
        if (box == NULL)
            return -1;
        PyList_SetItem(box, 0, gradient);
        pass->at_hand.gradient = NULL;
        struct arguments given = {{pass->task, pass->entries, node, box, pass->general}};
        PyObject *found = PyObject_Vectorcall(known->visit_one, given.each, 5, NULL);
        Py_DecRef(box);
        if (found == NULL)
            return -1;
        pass->arrived = kept(PyTuple_GetItem(found, 0));
        put(&pass->successors, kept(PyTuple_GetItem(found, 1)));
        put(&pass->numbers, kept(PyTuple_GetItem(found, 2)));
        Py_DecRef(found);
    }
    put(&pass->at_hand.gradient, NULL);
    put(&pass->at_hand.node, NULL);
    return pass->arrived == NULL ? -1 : 0;
}

/* Take the newest node in hand: 0 if there is none. */
static int choose(struct pass *pass)
{
    if (pass->count > 0) {
        if (pass->at_hand.node == NULL) {
            pop(pass, &pass->at_hand);
        } else if (pass->ready[0].seq > pass->at_hand.seq) {
            struct waiting later = pass->at_hand;
            later.stamp = pass->stamps++;
            pop(pass, &pass->at_hand);
            push(pass, &later); /* there is room, where the other one was */
        }
    }
    return pass->at_hand.node != NULL;
}

/* loop(task, entries, gradients, nodes, numbers, visit, targets, keep, general) */
PyObject *loop(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    struct pass pass = {
        .known = TABLE_OF(self), .task = args[0], .entries = args[1], .arrived = kept(args[2]),
        .successors = kept(args[3]), .numbers = kept(args[4]), .visit = args[5], .targets = args[6], .keep = args[7],
        .general = args[8], .leaves = PyList_New(0),
    };
    int more = pass.leaves == NULL ? -1 : 1;
    while (more > 0) {
        more = hand_all_on(&pass) < 0 || visit_leaves(&pass) < 0 ? -1 : choose(&pass);
        if (more > 0 && visit(&pass) < 0)
            more = -1;
    }
    Py_DecRef(pass.arrived);
    Py_DecRef(pass.successors);
    Py_DecRef(pass.numbers);
    Py_DecRef(pass.leaves);
    Py_DecRef(pass.at_hand.node);
    Py_DecRef(pass.at_hand.gradient);
    for (int64_t k = 0; k < pass.count; k++) {
        Py_DecRef(pass.ready[k].node);
        Py_DecRef(pass.ready[k].gradient);
    }
    free(pass.ready);
    return more < 0 ? NULL : kept(pass.known->none);
}
