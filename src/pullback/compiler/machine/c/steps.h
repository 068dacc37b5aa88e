/* Lists of NumPy's loops: what elementwise operators compute, and their gradients.

   Operands may be broadcast, and be views whose axes are in order. They are gone through in the order in which NumPy goes
   through such arrays, with axes joined where those of all operands can be. So every call of a loop is one that NumPy would
   make, and a result lies where NumPy's would. */

#ifndef PULLBACK_STEPS_H
#define PULLBACK_STEPS_H

#define MOST_AXES 6
#define MOST_TEMPORARIES 6

struct steps { /* of an operand, in bytes, for every axis of the result */
    npy_intp each[MOST_AXES];
};

struct operand_steps { /* of all operands of a loop, and of its result */
    const struct steps *each[3];
};

struct axis {
    npy_intp length, steps[3], at;
};

struct axes {
    struct axis each[MOST_AXES];
};

static int is_contiguous(PyArrayObject *array)
{
    return (PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS) != 0;
}

/* Would NumPy go through the axes of this array from the first to the last? */
static int is_in_order(PyArrayObject *array)
{
    npy_intp inner = 0;
    if (!(PyArray_FLAGS(array) & NPY_ARRAY_ALIGNED))
        return 0;
    for (int k = PyArray_NDIM(array) - 1; k >= 0 && !is_contiguous(array); k--) {
        npy_intp step = PyArray_DIMS(array)[k] == 1 ? 0 : PyArray_STRIDES(array)[k];
        if (step < 0 || (step != 0 && step < inner))
            return 0;
        inner = step == 0 ? inner : step;
    }
    return 1;
}

/* The steps of an array below a result of these lengths: 0 if it does not fit. */
static int find_steps(struct steps *steps, int ndim, const npy_intp *lengths, PyArrayObject *array)
{
    int before = ndim - PyArray_NDIM(array);
    if (before < 0)
        return 0;
    for (int k = ndim - 1; k >= 0; k--) {
        npy_intp length = k < before ? 1 : PyArray_DIMS(array)[k - before];
        if (length != lengths[k] && length != 1)
            return 0;
        steps->each[k] = length == 1 ? 0 : PyArray_STRIDES(array)[k - before];
    }
    return 1;
}

/* Run a loop over a result of these lengths and its operands; `count` is the number of all. */
static void go_through(numpys_loop *loop, void *its, int count, char **pointers, const struct operand_steps *steps,
                       int ndim, const npy_intp *lengths)
{
    struct axes axes;
    struct axis *each = axes.each;
    int found = 0;
    for (int k = ndim - 1; k >= 0; k--) {
        if (lengths[k] == 0)
            return;
        if (lengths[k] == 1)
            continue;
        int joins = found > 0;
        for (int i = 0; i < count && joins; i++)
            joins = steps->each[i]->each[k] == each[found - 1].steps[i] * each[found - 1].length;
        if (joins) {
            each[found - 1].length *= lengths[k];
            continue;
        }
        each[found].length = lengths[k];
        each[found].at = 0;
        for (int i = 0; i < count; i++)
            each[found].steps[i] = steps->each[i]->each[k];
        found++;
    }
    if (found == 0) {
        memset(&each[0], 0, sizeof each[0]);
        each[0].length = 1;
        found = 1;
    }
    for (int k = 0; k < found;) {
        loop(pointers, &each[0].length, each[0].steps, its);
        for (k = 1; k < found; k++) { /* on to the next place of the outer axes */
            for (int i = 0; i < count; i++)
                pointers[i] += each[k].steps[i];
            if (++each[k].at < each[k].length)
                break;
            each[k].at = 0;
            for (int i = 0; i < count; i++)
                pointers[i] -= each[k].steps[i] * each[k].length;
        }
    }
}

struct values { /* what steps read and make */
    char *each[TEMPORARY + MOST_TEMPORARIES];
    int ndim; /* the axes that they are gone through by; those of arrays of one shape are one */
    int is_flat, is_x, is_y; /* do all lie row by row; are these arrays? */
    npy_intp lengths[MOST_AXES];
    struct steps full, none, of_g, of_x, of_y; /* of a result, of what is the same for all, and of these three */
    double wide[2];                            /* operands that are numbers */
    float narrow[2];
};

static const struct steps *steps_of(const struct values *values, int64_t which)
{
    switch (which) {
    case G: return &values->of_g;
    case X: return &values->of_x;
    case Y: return &values->of_y;
    default: return which < 0 ? &values->none : &values->full;
    }
}

/* Go through arrays of one shape that lie row by row, or of one element for all, as if they had one axis. */
static void join_axes(struct values *values, npy_intp size, npy_intp width)
{
    values->ndim = 1;
    values->lengths[0] = size;
    values->full.each[0] = size == 1 ? 0 : width;
}

/* The steps of a result that is made row by row; returns its size. */
static npy_intp lay_out(struct values *values, npy_intp width)
{
    npy_intp size = 1;
    for (int k = values->ndim - 1; k >= 0; k--) {
        values->full.each[k] = values->lengths[k] == 1 ? 0 : size * width;
        size *= values->lengths[k];
    }
    return size;
}

/* Let temporaries lie behind each other. */
static void give_room(struct values *values, char *room, npy_intp bytes)
{
    for (int k = 0; k < MOST_TEMPORARIES; k++)
        values->each[TEMPORARY + k] = room + k * bytes;
}

struct loop {
    char *pointers[3];
    struct operand_steps steps;
};

/* Take the steps that begin there, the last one into `out`. */
static void take_steps(const int64_t *rest, int64_t begin, const struct values *values, PyObject *out)
{
    int64_t count = rest[begin];
    const struct step *step = (const struct step *)&rest[begin + 1];
    for (int64_t k = 0; k < count; k++, step++) {
        struct loop all;
        for (int64_t i = 0; i < step->count; i++) {
            int64_t from = step->operands[i];
            all.pointers[i] = from < 0 ? (char *)&rest[-1 - from] : values->each[from];
            all.steps.each[i] = steps_of(values, from);
        }
        all.pointers[step->count] = k == count - 1 ? PyArray_DATA((PyArrayObject *)out) : values->each[step->result];
        all.steps.each[step->count] = &values->full;
        go_through(step->loop, step->its, (int)step->count + 1, all.pointers, &all.steps, values->ndim, values->lengths);
    }
}

#endif
