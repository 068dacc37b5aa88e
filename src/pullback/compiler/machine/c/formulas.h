/* Formulas of nodes as lists of NumPy's loops, for passes.c. */

#ifndef PULLBACK_FORMULAS_H
#define PULLBACK_FORMULAS_H

#include "steps.h"

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

#endif
