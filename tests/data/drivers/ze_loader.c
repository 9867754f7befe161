/* A libze_loader.so.1 that answers without a GPU. Built by the tests; see ze_api.h for the real one.
 *
 * -DOLD            a loader before 1.10, without zeInitDrivers
 * -DNO_IP          a driver that does not know the device IP extension
 * -DNEWER          a device IP of the Xe2 family that no table has
 * -DMASKED         lists no device while ZE_AFFINITY_MASK is set
 * -DHANG           never comes back from zeInitDrivers
 * -DCRASH          dies of SIGSEGV on the second device
 * -DGARBAGE        answers, and none of it can be true
 * -DFLOOD          writes without end to stdout
 * -DNO_DRIVER      ZE_RESULT_ERROR_UNINITIALIZED
 * otherwise        an Arc B580, and a processor's own graphics (Arrow Lake-S)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    uint32_t stype;
    void *next;
    uint32_t ip;
} ip_version;

typedef struct {
    uint32_t stype;
    void *next;
    uint32_t type, vendor, device, flags, subdevice, clock;
    uint64_t memory;
    uint32_t contexts, priority, threads, simd, eus, subslices, slices;
    uint64_t timer;
    uint32_t timestamp, kernel_timestamp;
    uint8_t uuid[16];
    char name[256];
} properties;

typedef struct {
    const char *name;
    uint32_t device, ip, flags;
} gpu;

static const gpu gpus[] = {
#if defined(NEWER)
    {"Intel(R) Arc(TM) Graphics", 0xe2ff, (20u << 22) | (3u << 14) | 4u, 0},
#else
    {"Intel(R) Arc(TM) B580 Graphics", 0xe20b, (20u << 22) | (1u << 14), 0},
#endif
    {"Intel(R) Graphics", 0x7d67, (12u << 22) | (70u << 14) | 4u, 1},
};

static int start(void) {
#if defined(HANG)
    for (;;) pause();
#elif defined(FLOOD)
    for (;;) puts("ze_tracing");
#elif defined(NO_DRIVER)
    return 0x78000001;
#endif
    return 0;
}

static int list(uint32_t *count, void **handles, const void *first, size_t size, uint32_t length) {
    if (!handles) {
        *count = length;
        return 0;
    }
    for (uint32_t place = 0; place < *count && place < length; place++)
        handles[place] = (char *)first + place * size;
    return 0;
}

#ifndef OLD
int zeInitDrivers(uint32_t *count, void **drivers, void *desc) {
    static char driver;
    (void)desc;
    int code = start();
    return code ? code : list(count, drivers, &driver, 1, 1);
}
#endif

int zeInit(uint32_t flags) {
    (void)flags;
    return start();
}

int zeDriverGet(uint32_t *count, void **drivers) {
    static char driver;
    return list(count, drivers, &driver, 1, 1);
}

int zeDeviceGet(void *driver, uint32_t *count, void **devices) {
    (void)driver;
#if defined(MASKED)
    if (getenv("ZE_AFFINITY_MASK")) {
        *count = 0;
        return 0;
    }
#endif
    return list(count, devices, gpus, sizeof gpus[0], sizeof gpus / sizeof gpus[0]);
}

int zeDeviceGetProperties(void *handle, properties *out) {
    const gpu *device = handle;
#if defined(CRASH)
    if (device == &gpus[1]) *(volatile int *)0 = 1;
#endif
    out->type = 1;
    out->vendor = 0x8086;
    out->device = device->device;
    out->flags = device->flags;
    strcpy(out->name, device->name);
#if defined(GARBAGE)
    out->device = 0xffffffff;
    memset(out->name, 0xff, sizeof out->name);
#endif
#ifndef NO_IP
    for (ip_version *next = out->next; next; next = next->next)
        if (next->stype == 0x1000f) {
#if defined(GARBAGE)
            next->ip = 0xffffffff;
#else
            next->ip = device->ip;
#endif
        }
#endif
    return 0;
}
