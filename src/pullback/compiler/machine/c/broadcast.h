/* Loops of NumPy's over operands that are broadcast: in the order in which NumPy goes through arrays that lie row by row,
   with axes joined where those of all operands can be. So every call of a loop is one that NumPy would make. */

#ifndef PULLBACK_BROADCAST_H
#define PULLBACK_BROADCAST_H

#define MOST_AXES 6

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

/* The steps of an array that lies row by row, below a result of these lengths: 0 if it does not fit. */
static int find_steps(struct steps *steps, int ndim, const npy_intp *lengths, PyArrayObject *array, npy_intp width)
{
    int before = ndim - PyArray_NDIM(array);
    if (before < 0)
        return 0;
    for (int k = ndim - 1; k >= 0; k--) {
        npy_intp length = k < before ? 1 : PyArray_DIMS(array)[k - before];
        if (length != lengths[k] && length != 1)
            return 0;
        steps->each[k] = length == 1 ? 0 : width;
        width *= length;
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

#endif
