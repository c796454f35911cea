/* A libcuda.so.1 for machines without one: enough for the real cuda.bindings to launch. Device memory is host memory;
   every call that matters is printed. With QUIET nothing is printed and no kernel runs, for bench/without_gpu.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef QUIET
#define SAY(...) 0
#define VERSION 12010 /* what came later is not asked for, so that other versions of the package run on this too */
#else
#define VERSION 13000
#define SAY(...) (printf(__VA_ARGS__), putchar('\n'), fflush(stdout), 0)
#endif

static _Thread_local void *current;
static int dynamic_limit = 48 * 1024;

int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int *v) { *v = VERSION; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int ordinal) { *d = ordinal; return 0; }
int cuDeviceGetName(char *s, int n, int d) { snprintf(s, n, "Stub"); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : a == 97 ? 232448 : 0; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)0x1000; return 0; }
int cuCtxGetCurrent(void **c) { *c = current; return 0; }
int cuCtxSetCurrent(void *c) { current = c; return 0; }
int cuCtxGetDevice(int *d) { *d = 0; return 0; }
int cuStreamIsCapturing(void *s, int *status) { *status = 0; return 0; }
int cuStreamSynchronize(void *s) { return 0; }
int cuThreadExchangeStreamCaptureMode(int *mode) { *mode = 0; return 0; }
int cuLibraryLoadData(void **l, const char *code, void *a, void *b, unsigned n, void *c, void *d, unsigned m) {
    *l = (void *)0x2000;
    return SAY("load %.3s options %u %u", code + 1, n, m);
}
int cuLibraryUnload(void *l) { return SAY("unload"); }
int cuLibraryGetKernel(void **k, void *l, const char *name) { *k = (void *)0x3000; return SAY("kernel %s", name); }
int cuKernelGetFunction(void **f, void *k) { *f = (void *)0x4000; return 0; }
int cuFuncGetAttribute(int *v, int a, void *f) { *v = a == 8 ? dynamic_limit : 0; return 0; }
int cuFuncSetAttribute(void *f, int a, int v) { dynamic_limit = v; return SAY("function attribute %d = %d", a, v); }
int cuMemAlloc_v2(uint64_t *p, size_t n) { *p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256); return 0; }
int cuMemFree_v2(uint64_t p) { free((void *)p); return SAY("free"); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *s) { memcpy((void *)to, from, n); return 0; }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s) { memcpy(to, (void *)from, n); return 0; }
int cuEventCreate(void **e, unsigned flags) { *e = (void *)0x77; return SAY("event flags %u", flags); }
int cuEventRecord(void *e, void *s) { return SAY("record on %d", (int)(intptr_t)s); }
int cuEventDestroy_v2(void *e) { return 0; }
int cuStreamWaitEvent(void *s, void *e, unsigned f) { return SAY("wait on %d", (int)(intptr_t)s); }
int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int promotion, int fill) {
    memset(map, 0xff, 128);
    map[0] = (uint64_t)address;
    return SAY("encode type %d rank %u aligned %d dims %d,%d stride %d box %u,%u steps %u,%u enums %d %d %d %d", type,
               rank, (uintptr_t)map % 128 == 0, (int)dims[0], (int)dims[1], (int)strides[0], box[0], box[1], steps[0],
               steps[1], interleave, swizzle, promotion, fill);
}
int cuTensorMapReplaceAddress(uint64_t *map, void *address) { map[0] = (uint64_t)address; return 0; }
/* The kernel: adds parameter 2 (i32) to the first byte of the tensor in parameter 1. */
static void run(void **parameters) {
#ifdef QUIET
    return;
#endif
    uint64_t map = *(uint64_t *)parameters[0], tensor = *(uint64_t *)parameters[1];
    *(uint8_t *)tensor += *(int *)parameters[2];
    SAY("descriptor %s, word 1 bit 21 %d", map == tensor ? "of the tensor" : "of something else",
        (int)(((uint64_t *)parameters[0])[1] >> 21 & 1));
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **parameters, void **extra) {
    run(parameters);
    return SAY("launch grid %u,%u,%u block %u,%u,%u shared %u stream %d", gx, gy, gz, bx, by, bz, shared,
               (int)(intptr_t)s);
}
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct { int id, pad, value[16]; } *attributes;
    unsigned count;
};
int cuLaunchKernelEx(const struct config *c, void *f, void **parameters, void **extra) {
    run(parameters);
    for (unsigned i = 0; i < c->count; i++)
        SAY("attribute %d = %d", c->attributes[i].id, c->attributes[i].value[0]);
    return SAY("launch grid %u block %u shared %u stream %d", c->grid[0], c->block[0], c->shared,
               (int)(intptr_t)c->stream);
}
int cuGetProcAddress_v2(const char *name, void **f, int version, uint64_t flags, int *status) {
    char versioned[128];
    Dl_info own;
    dladdr((void *)cuInit, &own);
    void *self = dlopen(own.dli_fname, RTLD_NOW);
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    *f = dlsym(self, versioned);
    if (!*f) *f = dlsym(self, name);
    if (status) *status = *f ? 0 : 1;
    return 0;
}
int cuGetProcAddress(const char *name, void **f, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, f, version, flags, 0);
}
