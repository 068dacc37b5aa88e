/* The node behind each of several leaves, found through a weak reference, or made (leaves.py).

   It does what `accumulators_of` in tape/accumulate.py does, without its lock. Between the last look at a leaf and the
   store of a new reference no other thread runs, since nothing there lets go of the interpreter's lock; whoever was
   faster is noticed at that last look. */

#include "pullback.h"

static void fill(PyObject *node, int64_t offset, PyObject *value)
{
    Py_IncRef(value);
    SLOT(node, offset) = value;
}

static PyObject *new_node(const struct leaves *known, PyObject *tensor)
{
    PyObject *number = PyObject_CallNoArgs(known->clock);
    if (number == NULL)
        return NULL;
    PyObject *node = PyType_GenericAlloc(known->node, 0);
    if (node == NULL) {
        Py_DecRef(number);
        return NULL;
    }
    SLOT(node, known->seq_of_node) = number;
    fill(node, known->spec_of_node, SLOT(tensor, known->spec_of_tensor));
    fill(node, known->variable_of_node, tensor);
    fill(node, known->next_of_node, known->nothing);
    fill(node, known->rare_of_node, known->none);
    return node;
}

/* The node of a leaf, whose `mark` holds None or a weak reference to it. */
static PyObject *node_of(const struct leaves *known, PyObject *tensor, PyObject *mark)
{
    for (;;) {
        PyObject *old = SLOT(mark, known->reference_of_mark);
        Py_IncRef(old);
        if (old != known->none) {
            PyObject *found = PyObject_CallNoArgs(old);
            if (found != known->none) { /* or NULL, for an exception */
                Py_DecRef(old);
                return found;
            }
            Py_DecRef(found);
        }
        PyObject *node = new_node(known, tensor);
        PyObject *reference = node == NULL ? NULL : PyWeakref_NewRef(node, NULL);
        if (reference == NULL) {
            Py_DecRef(node);
            Py_DecRef(old);
            return NULL;
        }
        if (SLOT(mark, known->reference_of_mark) == old) {
            SLOT(mark, known->reference_of_mark) = reference;
            Py_DecRef(old); /* that of the slot */
            Py_DecRef(old);
            return node;
        }
        Py_DecRef(reference); /* another thread has run since, and made one */
        Py_DecRef(node);
        Py_DecRef(old);
    }
}

PyObject *leaves(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct leaves *known = TABLE_OF(self);
    PyObject *nodes = PyTuple_New(count);
    if (nodes == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *mark = SLOT(args[i], known->mark_of_tensor);
        if (Py_TYPE(mark) != known->leaf) {
            Py_DecRef(nodes);
            return PyObject_Vectorcall(known->slow, args, count, NULL);
        }
        PyObject *node = node_of(known, args[i], mark);
        if (node == NULL) {
            Py_DecRef(nodes);
            return NULL;
        }
        PyTuple_SetItem(nodes, i, node);
    }
    return nodes;
}
