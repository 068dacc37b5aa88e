/* A backward pass that nobody watches (passes.py): `prepare` and `loop` do what `_prepare` and `_loop` in tape/engine.py
   do, with the same entries, in the same order. What is unusual about a node is for Python to see to.

   A function here owns every reference that it holds across a call of Python, and returns -1 or NULL for an exception. */

#include "pullback.h"
#include <stdlib.h>
#include <string.h>

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

/* prepare(nodes, entries): count for every node behind `nodes` how many gradients it has to wait for. Returns how many of
   them have nothing behind them. */
PyObject *prepare(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct passes *known = TABLE_OF(self);
    (void)count;
    PyObject *found = PyList_New(0); /* grows while it is read */
    if (found == NULL || PyList_Append(found, args[0]) < 0) {
        Py_DecRef(found);
        return NULL;
    }
    long ends = 0;
    for (Py_ssize_t k = 0; k < PyList_Size(found); k++) {
        PyObject *nodes = PyList_GetItem(found, k);
        Py_ssize_t length = PyTuple_Size(nodes);
        int is_end = 1;
        for (Py_ssize_t i = 0; i < length; i++) {
            PyObject *node = PyTuple_GetItem(nodes, i);
            if (node == known->none)
                continue;
            is_end = 0;
            if (count_edge(known, args[1], node, found) < 0) {
                Py_DecRef(found);
                return NULL;
            }
        }
        ends += is_end;
    }
    Py_DecRef(found);
    return PyLong_FromLong(ends);
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

#include "formulas.h"

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
