/* Launches for arguments seen before, in C: what `kernel[grid, block]` returns where this was built with the package and
   arrays have the DLPack C exchange API (DLPack 1.3). Built as native_build.py says, loaded by native.py.

   A call reads every array argument (address, shape, strides, type, device), looks for a known launch with the same
   ones, puts the addresses into that launch's descriptors and parameters, and launches on the framework's current
   stream. Whatever it does not know, and whatever fails, goes to the Python function it was made with. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

/* native_build.py looks for this text before the file is loaded. */
#ifndef SOURCE_DIGEST
#error "SOURCE_DIGEST has to be the digest of this file: see native_build.py"
#endif
__attribute__((used)) static const char built_of[] = "native_launch of " SOURCE_DIGEST;

enum { MAX_ARGUMENTS = 32, MAX_PARAMETERS = 96, MAX_RANK = 8, MAX_MAPS = 24, MAP_BYTES = 128 };
enum { MAX_KNOWN = 128, MAX_TYPES = 8 };

/* dlpack.h, version 1.3 */
typedef struct { int32_t type, id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } DataType;
typedef struct {
    void *data;
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;
typedef struct Exchange {
    struct { uint32_t major, minor; } version;
    struct Exchange *older;
    void *allocate, *from_object, *to_object;
    int (*read)(void *object, Tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
} Exchange;

static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                            void **);
static int (*replace_address)(void *map, void *address);
static int (*current_device)(int *device);

/* Array types and their exchange APIs. */
static struct { PyTypeObject *type; const Exchange *api; } types[MAX_TYPES];
static int type_count;

static const Exchange *api_of(PyTypeObject *type) {
    for (int i = 0; i < type_count; i++)
        if (types[i].type == type) return types[i].api;
    return NULL;
}

/* How a number becomes a parameter. */
typedef enum { ARRAY = -1, INTEGER = 0, FLOAT32 = 1, FLOAT64 = 2 } Kind;
typedef struct {
    Kind kind;
    int fixed; /* a descriptor depends on the number: another one needs another launch */
    int64_t low;
    uint64_t high, number;
} Scalar;
typedef struct {
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t shape[MAX_RANK], strides[MAX_RANK];
} Array;
typedef struct { int argument; int64_t plus; } Part;

/* A launch for arrays of given shapes. `maps`: its descriptors as last used, for `addresses`. */
typedef struct Known {
    struct Known *next;
    const Exchange *api;
    void *function;
    unsigned extents[7];
    int arguments, array_count, map_count, word_count, device;
    Device place;
    uint32_t repairs; /* descriptors whose byte 10 has bit 5 wrong, as the driver's encoder leaves it */
    Scalar scalars[MAX_ARGUMENTS];
    Array arrays[MAX_ARGUMENTS];
    Part targets[MAX_MAPS], words[MAX_PARAMETERS];
    uint64_t addresses[MAX_MAPS];
    uint8_t maps[][MAP_BYTES];
} Known;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *slow, *alive; /* a callable; a bytearray whose first byte is 0 when the kernel was unloaded */
    Known *known;
    int count;
} Launch;

/* The number's parameter word; 0 if it is none, or out of range. */
static int number_of(PyObject *value, const Scalar *wanted, uint64_t *word) {
    int is_integer = PyLong_CheckExact(value) || PyBool_Check(value);
    if (wanted->kind == INTEGER) {
        int overflow;
        long long number;
        if (!is_integer) return 0;
        number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow < 0 || (overflow == 0 && number < wanted->low)) return 0;
        *word = (uint64_t)number;
        if (overflow > 0) {
            *word = PyLong_AsUnsignedLongLong(value);
            if (PyErr_Occurred()) return PyErr_Clear(), 0;
        }
        return (overflow == 0 && number < 0) || *word <= wanted->high;
    }
    double number;
    if (PyFloat_CheckExact(value))
        number = PyFloat_AS_DOUBLE(value);
    else if (is_integer) {
        number = PyLong_AsDouble(value);
        if (PyErr_Occurred()) return PyErr_Clear(), 0;
    } else
        return 0;
    *word = 0;
    if (wanted->kind == FLOAT32) {
        float narrow = (float)number;
        if (isinf(narrow) && !isinf(number)) return 0;
        memcpy(word, &narrow, sizeof narrow);
    } else
        memcpy(word, &number, sizeof number);
    return 1;
}

static int same_array(const Array *wanted, const Tensor *found) {
    if (found->ndim != wanted->ndim || memcmp(&found->dtype, &wanted->dtype, sizeof found->dtype) ||
        found->device.type != wanted->device.type || found->device.id != wanted->device.id || !found->strides)
        return 0;
    for (int d = 0; d < found->ndim; d++)
        if (found->shape[d] != wanted->shape[d] || found->strides[d] != wanted->strides[d]) return 0;
    return 1;
}

/* Whether the arguments are those of `known`; then `words` holds the numbers among them. */
static int matches(const Known *known, PyObject *const *arguments, const Tensor *tensors, uint64_t *words) {
    for (int i = 0; i < known->arguments; i++) {
        const Scalar *scalar = &known->scalars[i];
        if (scalar->kind == ARRAY) {
            if (!tensors[i].shape || !same_array(&known->arrays[i], &tensors[i])) return 0;
        } else if (tensors[i].shape || !number_of(arguments[i], scalar, &words[i]) ||
                   (scalar->fixed && words[i] != scalar->number))
            return 0;
    }
    return 1;
}

/* Puts the descriptors for these addresses into `maps`; 0 if an address cannot be described. */
static int write_maps(Known *known, const uint64_t *words, uint8_t *maps) {
    for (int i = 0; i < known->map_count; i++) {
        uint8_t *map = maps + MAP_BYTES * i;
        uint64_t address = words[known->targets[i].argument] + known->targets[i].plus;
        if (address % 16 || !address) return 0;
        memcpy(map, known->maps[i], MAP_BYTES);
        if (address == known->addresses[i]) continue;
        if (replace_address(map, (void *)address)) return 0;
        if (known->repairs >> i & 1) map[10] &= ~(1 << 5);
        memcpy(known->maps[i], map, MAP_BYTES);
        known->addresses[i] = address;
    }
    return 1;
}

/* 1 if launched. */
static int try_launch(Launch *self, PyObject *const *arguments, Py_ssize_t count) {
    Tensor tensors[MAX_ARGUMENTS];
    uint64_t words[MAX_ARGUMENTS], values[MAX_PARAMETERS];
    _Alignas(MAP_BYTES) uint8_t maps[MAX_MAPS * MAP_BYTES];
    void *parameters[MAX_PARAMETERS + MAX_MAPS], *stream = NULL;
    const Exchange *api = NULL;
    if (!self->known || count > MAX_ARGUMENTS || !PyByteArray_AS_STRING(self->alive)[0]) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        const Exchange *own = api_of(Py_TYPE(arguments[i]));
        tensors[i].shape = NULL;
        if (!own) continue;
        if ((api && own != api) || own->read(arguments[i], &tensors[i])) return PyErr_Clear(), 0;
        if (!tensors[i].shape) { /* rank 0 may have none */
            static int64_t nothing;
            tensors[i].shape = tensors[i].strides = &nothing;
        }
        api = own;
        words[i] = (uint64_t)(uintptr_t)tensors[i].data + tensors[i].byte_offset;
    }
    Known **link = &self->known, *known;
    for (; (known = *link); link = &known->next)
        if (known->arguments == count && known->api == api && matches(known, arguments, tensors, words)) break;
    if (!known) return 0;
    *link = known->next; /* the one used last is looked at first */
    known->next = self->known;
    self->known = known;

    int device;
    if (known->device >= 0 && (current_device(&device) || device != known->device)) return 0;
    if (!write_maps(known, words, maps)) return 0;
    if (api->current_stream(known->place.type, known->place.id, &stream)) return PyErr_Clear(), 0;
    for (int i = 0; i < known->map_count; i++) parameters[i] = maps + MAP_BYTES * i;
    for (int i = 0; i < known->word_count; i++) {
        const Part *part = &known->words[i];
        values[i] = part->plus + (part->argument < 0 ? 0 : words[part->argument]);
        parameters[known->map_count + i] = &values[i];
    }
    /* Another thread may change the list while this one waits for room in the stream. */
    void *function = known->function;
    unsigned e[7];
    int result;
    memcpy(e, known->extents, sizeof e);
    Py_BEGIN_ALLOW_THREADS
    result = launch_kernel(function, e[0], e[1], e[2], e[3], e[4], e[5], e[6], stream, parameters, NULL);
    Py_END_ALLOW_THREADS
    return result == 0;
}

static PyObject *launch_call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names) {
    Launch *self = (Launch *)callable;
    if ((!names || !PyTuple_GET_SIZE(names)) && try_launch(self, arguments, PyVectorcall_NARGS(flags))) Py_RETURN_NONE;
    if (!self->slow) return PyErr_SetString(PyExc_RuntimeError, "the launch was collected"), NULL;
    return PyObject_Vectorcall(self->slow, arguments, flags, names);
}

static void forget(Known *known) {
    while (known) {
        Known *next = known->next;
        PyMem_Free(known);
        known = next;
    }
}

static int read_parts(PyObject *given, Part *parts, int limit) {
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > limit) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        long long plus;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "iL", &parts[i].argument, &plus)) return -1;
        parts[i].plus = plus;
    }
    return (int)count;
}

PyDoc_STRVAR(add_doc,
             "add(arguments, scalars, function, extents, device, descriptors, targets, words, repairs) -> bool\n\n"
             "Makes the launch of `arguments` a known one. `scalars`: for each argument None, or (kind, low, high, fixed)."
             "\n`extents`: grid, block, dynamic shared memory. `device`: the one that has to be current, or -1.\n"
             "`targets`: (argument, bytes from its pointer) of each descriptor; `words`: the same of each parameter after\n"
             "them, argument -1 for a constant. False if it is not of the kind that can be launched here.");

static PyObject *launch_add(PyObject *object, PyObject *given) {
    Launch *self = (Launch *)object;
    PyObject *arguments, *scalars, *targets, *words;
    const char *maps;
    Py_ssize_t map_bytes;
    unsigned long long function;
    unsigned e[7], repairs;
    int device;
    if (!PyArg_ParseTuple(given, "O!O!K(IIIIIII)iy#O!O!I", &PyTuple_Type, &arguments, &PyTuple_Type, &scalars, &function,
                          &e[0], &e[1], &e[2], &e[3], &e[4], &e[5], &e[6], &device, &maps, &map_bytes, &PyTuple_Type,
                          &targets, &PyTuple_Type, &words, &repairs))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count > MAX_ARGUMENTS || count != PyTuple_GET_SIZE(scalars) || map_bytes > MAX_MAPS * MAP_BYTES) Py_RETURN_FALSE;
    Known *known = PyMem_Calloc(1, sizeof(Known) + map_bytes);
    if (!known) return PyErr_NoMemory();
    known->function = (void *)(uintptr_t)function;
    known->arguments = (int)count;
    known->device = device;
    known->repairs = repairs;
    memcpy(known->extents, e, sizeof e);
    memcpy(known->maps, maps, map_bytes);
    known->map_count = read_parts(targets, known->targets, MAX_MAPS);
    known->word_count = read_parts(words, known->words, MAX_PARAMETERS);
    if (known->map_count < 0 || known->word_count < 0 || known->map_count * MAP_BYTES != map_bytes) goto no;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *argument = PyTuple_GET_ITEM(arguments, i), *wanted = PyTuple_GET_ITEM(scalars, i);
        Scalar *scalar = &known->scalars[i];
        if (wanted != Py_None) {
            long long low;
            unsigned long long high;
            if (!PyArg_ParseTuple(wanted, "iLKp", &scalar->kind, &low, &high, &scalar->fixed)) goto no;
            scalar->low = low;
            scalar->high = high;
            if (!number_of(argument, scalar, &scalar->number)) goto no;
            continue;
        }
        const Exchange *api = api_of(Py_TYPE(argument));
        Array *array = &known->arrays[i];
        Tensor tensor;
        if (!api || (known->api && known->api != api) || api->read(argument, &tensor)) goto no;
        if (tensor.ndim > MAX_RANK || (tensor.ndim && !tensor.strides)) goto no;
        scalar->kind = ARRAY;
        known->api = api;
        known->place = array->device = tensor.device;
        array->ndim = tensor.ndim;
        array->dtype = tensor.dtype;
        memcpy(array->shape, tensor.shape, tensor.ndim * sizeof(int64_t));
        memcpy(array->strides, tensor.strides, tensor.ndim * sizeof(int64_t));
    }
    if (!known->api) goto no;
    if (self->count == MAX_KNOWN) {
        Known **last = &self->known;
        while ((*last)->next) last = &(*last)->next;
        forget(*last);
        *last = NULL;
        self->count--;
    }
    known->next = self->known;
    self->known = known;
    self->count++;
    Py_RETURN_TRUE;
no:
    forget(known);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_FALSE;
}

static PyObject *launch_new(PyTypeObject *type, PyObject *given, PyObject *names) {
    PyObject *slow, *alive;
    (void)names;
    if (!PyArg_ParseTuple(given, "OO!", &slow, &PyByteArray_Type, &alive)) return NULL;
    Launch *self = (Launch *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = launch_call;
    self->slow = Py_NewRef(slow);
    self->alive = Py_NewRef(alive);
    return (PyObject *)self;
}

static int launch_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((Launch *)object)->slow);
    return 0;
}

static int launch_clear(PyObject *object) {
    Py_CLEAR(((Launch *)object)->slow);
    return 0;
}

static void launch_dealloc(PyObject *object) {
    Launch *self = (Launch *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    forget(self->known);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->alive);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *launch_known(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromLong(((Launch *)object)->count);
}

static PyMethodDef launch_methods[] = {{"add", launch_add, METH_VARARGS, add_doc}, {NULL, NULL, 0, NULL}};
static PyGetSetDef launch_getters[] = {{"known", launch_known, NULL, "How many launches are known.", NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef launch_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Launch, call), READONLY, NULL},
                                        {NULL, 0, 0, 0, NULL}};
static PyType_Slot launch_slots[] = {{Py_tp_new, launch_new},         {Py_tp_dealloc, launch_dealloc},
                                     {Py_tp_traverse, launch_traverse}, {Py_tp_clear, launch_clear},
                                     {Py_tp_call, PyVectorcall_Call},   {Py_tp_methods, launch_methods},
                                     {Py_tp_getset, launch_getters},    {Py_tp_members, launch_members},
                                     {0, NULL}};
static PyType_Spec launch_spec = {"native_launch.Launch", sizeof(Launch), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, launch_slots};

static PyObject *learn_type(PyObject *module, PyObject *given) {
    PyObject *type, *capsule;
    (void)module;
    if (!PyArg_ParseTuple(given, "O!O", &PyType_Type, &type, &capsule)) return NULL;
    const Exchange *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (!api) return NULL;
    while (api && api->version.major != 1) api = api->older;
    if (!api || !api->read || !api->current_stream) Py_RETURN_FALSE;
    if (api_of((PyTypeObject *)type)) Py_RETURN_TRUE;
    if (type_count == MAX_TYPES) Py_RETURN_FALSE;
    types[type_count].type = (PyTypeObject *)Py_NewRef(type); /* types are few, and kept */
    types[type_count++].api = api;
    Py_RETURN_TRUE;
}

static PyMethodDef methods[] = {
    {"learn_type", learn_type, METH_VARARGS, "learn_type(type, capsule) -> whether its arrays can be read here"},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "native_launch", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_native_launch(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return PyErr_SetString(PyExc_ImportError, "no libcuda.so.1"), NULL;
    *(void **)&launch_kernel = dlsym(driver, "cuLaunchKernel");
    *(void **)&replace_address = dlsym(driver, "cuTensorMapReplaceAddress");
    *(void **)&current_device = dlsym(driver, "cuCtxGetDevice");
    if (!launch_kernel || !replace_address || !current_device)
        return PyErr_SetString(PyExc_ImportError, "libcuda.so.1 is too old"), NULL;
    PyObject *module = PyModule_Create(&definition), *type = PyType_FromSpec(&launch_spec);
    if (!module || !type || PyModule_AddObject(module, "Launch", type)) return NULL;
    return module;
}
