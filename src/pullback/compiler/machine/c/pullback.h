/* What C here knows of CPython and NumPy, and the tables that Python fills.

   CPython is used by its stable interface, NumPy by its public headers. The structs and numbers that this relies on
   are compared with real objects once per process (`structs.py`); if anything is not as it should be, nothing of this is
   used. docs/design/machine.md tells how this becomes machine code.

   Every field of a table has 64 bits, and Python has a tuple with the same names in the same order, which a test
   compares with this page. An offset is a number of bytes in instances of a class, where one of its slots is. */

#ifndef PULLBACK_H
#define PULLBACK_H

#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL pullback_numpy /* NumPy's table of functions; `structs.py` says where it is */
#define NPY_API_SYMBOL_ATTRIBUTE
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>
#include <stdint.h>

/* Exported since 3.9, and in the stable interface since 3.12. */
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t count, PyObject *names);
PyAPI_FUNC(PyObject *) PyObject_VectorcallMethod(PyObject *name, PyObject *const *args, size_t count, PyObject *names);
PyAPI_FUNC(int) PyContextVar_Get(PyObject *variable, PyObject *otherwise, PyObject **value); /* since 3.7 */

/* The table of a builtin function that Python made (`builtin_function` in structs.py): the data of an array. */
#define TABLE_OF(self) PyArray_DATA((PyArrayObject *)(self))
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* leaves.py */
struct leaves {
    PyTypeObject *node, *leaf; /* the classes of nodes and of what marks a tensor as a leaf */
    PyObject *clock;           /* gives new nodes their numbers */
    PyObject *slow;            /* does the same in Python */
    PyObject *nothing, *none;  /* () and None */
    int64_t mark_of_tensor, spec_of_tensor, reference_of_mark;
    int64_t variable_of_node, spec_of_node, next_of_node, rare_of_node, seq_of_node;
};

/* tape.py */
typedef void numpys_loop(char **args, const npy_intp *lengths, const npy_intp *steps, void *its);

/* What calls of all operators know. */
struct calls {
    PyTypeObject *tensor, *leaf, *view, *view_within;      /* classes */
    PyObject *none, *true_, *unwritten, *not_saved, *hold; /* objects, the last one a name */
    PyObject *modes, *switch_;                             /* the variable with the modes; where the normal ones are */
    PyObject *open_levels;                                 /* of forward mode */
    PyObject *clock, *accumulator_of, *spec_for;           /* functions */
    int64_t flags;                                         /* the floating point exceptions that NumPy looks at */
    int64_t most;                                          /* elements, at most */
    int64_t normal_of_switch, usual_of_modes, within_of_modes, within_of_view;
    int64_t reference_of_leaf, epoch_of_counter, value_of_counter, version_of_view;
    int64_t is_plain_of_spec, numbers_of_spec;
    int64_t data_of_tensor, spec_of_tensor, node_of_tensor, counter_of_tensor, extra_of_tensor, meta_of_tensor;
    int64_t next_of_node, rare_of_node, seq_of_node, spec_of_node;
};

/* What the calls of one elementwise operator know. */
struct call {
    const struct calls *known;
    PyTypeObject *node, *loose; /* the classes: for operands of one spec, and for those that are broadcast */
    int64_t operands;           /* 1 or 2 */
    int64_t x_data, x_epoch, y_data, y_epoch, out_data; /* slots of the node, 0 where it has none */
    int64_t x_readers, y_readers, out_readers;          /* whose gradients read that: 1 for x, 2 for y */
    int64_t in_float, in_double, temporaries;           /* where steps begin in the rest; arrays that they make on the way */
    int64_t rest[];                                     /* the number of steps, steps; constants */
};

/* What the calls of any other operator know that has one result. */
struct direct {
    const struct calls *known;
    PyTypeObject *node;                    /* NULL if there is no derivative */
    PyTypeObject *settings;                /* parameters that know of what kind a call is; NULL if no kind is native */
    PyObject *op, *kernel, *asarray;       /* the operator, and functions */
    int64_t call_of_settings, function_of_kind, left_of_kind, known_of_spec, single_of_spec, is_differentiable_of_spec;
    int64_t params_of_node, specs_of_node, out_data, out_readers, has_params, large;
    int64_t operands; /* how many; -1 for any number */
    int64_t rest[];   /* for each of them its slots, 0 where the node has none, and whose gradients read it */
};

/* The formula of the nodes of an elementwise operator, or of a sum. */
struct formula {
    int64_t operands, is_loose;                         /* may operands have other shapes than the result? */
    int64_t is_sum;                                     /* then x_float and x_double are of g and of how many elements there are */
    int64_t x_data, x_epoch, y_data, y_epoch, out_data;
    int64_t x_float, x_double, y_float, y_double; /* where a gradient's steps begin in the rest; SAME or ABSENT */
    int64_t rest[];                               /* the number of steps, steps; constants */
};
enum { ABSENT = -1, SAME = -2 }; /* there is no such gradient; it is what has arrived */

/* A loop of NumPy's. */
struct step {
    numpys_loop *loop;
    void *its;
    int64_t count, operands[2], result; /* a constant is -1 minus its place in the rest */
};
enum { G, X, Y, OUT, TEMPORARY }; /* what steps read; from the last one on arrays that they make */

/* passes.py */
struct passes {
    PyTypeObject *sink;            /* the class of nodes behind leaves */
    PyObject *none, *true_;        /* None and True */
    PyObject *sole, *one, *own;    /* what tape/entries.py says of a node: it waits for one gradient; how one is held */
    PyObject *list;
    PyObject *is_fast, *pull, *num_outputs, *add; /* names */
    PyObject *sums;                /* whose `add` adds up long gradients */
    PyObject *add_new, *at_output, *visit_leaves, *visit_one, *fitted; /* functions of tape/ */
    PyObject *formulas, *learn;    /* the formulas of classes of nodes, and what finds that of a new one */
    PyObject *disturbed;           /* saved values that were written over */
    PyObject *axis;                /* a name */
    PyObject *unwritten, *not_saved;
    int64_t next_of_epoch;
    int64_t next_of_node, rare_of_node, seq_of_node, spec_of_node;
    int64_t params_of_node, specs_of_node; /* of one that is not elementwise */
    int64_t shape_of_spec, dtype_of_spec;
};

/* parts.py */
struct parts {
    PyTypeObject *sink, *integer, *slice;       /* the class of nodes behind leaves, and classes of Python */
    PyObject *slow;                             /* does the same in Python */
    PyObject *assigned;                         /* the formula of an assignment */
    PyObject *none, *true_, *false_, *ellipsis, *counted; /* the last one is (None,) */
    PyObject *sole, *one, *own, *disturbed, *unset; /* of tape/entries.py, tensors/overwrites.py, tensors/tensor.py */
    PyObject *part_kind, *shows_part, *axes, *variable, *meta, *grad_dtype, *visit, *keep_graph, *num_outputs, *release; /* names */
    PyObject *rest_data, *rest_epochs, *template, *accumulate, *shape, *dtype, *next;
    int64_t next_of_node, rare_of_node, spec_of_node;
    int64_t key_of_part, specs_of_part, params_of_part;
    int64_t fn_of_write, key_of_write, order_of_write;
    int64_t position; /* NumPy's number of the dtype of positions */
};

enum { BY_INDEX = 1, BY_PLACES, IN_ORDER, BY_AXES, TO_INDEX, TO_PLACES }; /* tape/node.py */

/* buffers.py */
struct buffers {
    PyObject *ufunc, *allocator; /* what is called, and what is in force meanwhile */
};

/* entry.py */
struct code {
    int64_t (*run)(void **table, void *room);
    int64_t left; /* calls until the slow way is to make better code */
};

struct entry {
    PyObject *slow;
    struct code *code;
    _Atomic(void *) *slot;              /* the arena that the call before has left */
    PyTypeObject *wrapper;              /* the class of results, if they are wrapped */
    int64_t inputs, constants, results; /* how many */
    int64_t arena, stack;               /* bytes of memory from the heap, or from the stack */
    int64_t releases;                   /* is the interpreter's lock let go? */
    int64_t array_slot;                 /* the offset of the array in an instance of the class */
    int64_t single;                     /* is there one result, and is it returned without a tuple? */
    int64_t finite;                     /* is what is not finite left to the slow way, which may complain? */
    int64_t rest[];                     /* addresses of constants, a record of every input and of every result;
                                           if there is a class, another one for every result */
};

struct array_record {
    PyArray_Descr *descr;
    int64_t ndim;
    int64_t flags;     /* what an input must have; are the strides of a result to be given? */
    int64_t lengths[]; /* then strides, in bytes */
};
#define ANY INT64_MIN /* a stride that is not looked at */

struct wrap_record {
    int64_t count; /* slots that are filled besides that of the array; without any a result stays an array */
    struct {
        int64_t offset;
        PyObject *value;
    } slots[];
};

/* ufuncs.py */
typedef void shared_loop(void *args, int64_t begin, int64_t end);

struct ufunc {
    int64_t (*block)(char **pointers, const int64_t *units, int64_t count); /* computes, and reports exceptions */
    int64_t count;   /* operands, with the result */
    int64_t least;   /* elements below which NumPy's loop is taken */
    int64_t alone;   /* elements from which on threads share the loop */
    int64_t grain;   /* blocks that a thread takes at a time */
    int64_t reports; /* HARDWARE or LOOKED_AT */
    int64_t flags;   /* the floating point exceptions that NumPy looks at */
    void (*other)(char **args, const npy_intp *lengths, const npy_intp *steps, void *its); /* NumPy's loop, or NULL */
    void *its;                                                                             /* what that is given */
    void (*parallel)(shared_loop *function, void *args, int64_t units, int64_t grain);     /* of pool.c, or NULL */
    int64_t widths[];                                                                      /* bytes of elements */
};
enum { HARDWARE, LOOKED_AT };
#define BLOCK 1024 /* elements that are computed between two looks at what is next */

#endif
