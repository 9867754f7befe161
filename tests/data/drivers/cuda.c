/* A libcuda.so.1 that answers without a GPU. Built by the tests; see cuda.h for the real one.
 *
 * -DVERSION=12060  what cuDriverGetVersion says (12060 unless given)
 * -DUNLIKE         a GTX 1080 Ti and an RTX 4090, the faster first
 * -DORIN           one Jetson Orin
 * -DHANG           never comes back from cuInit
 * -DCRASH          dies of SIGSEGV in cuInit, after the version was told
 * -DNO_DEVICE      CUDA_ERROR_NO_DEVICE
 * -DNO_COMPAT      CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
 * -DGARBAGE        answers, and none of it can be true
 * -DFLOOD          writes without end to stdout
 * -DMIG_INSTANCE   the MIG instance that CUDA_VISIBLE_DEVICES names, none without
 * -DBARE           a driver from before attributes, UUIDs and addresses
 * -DMASKED         reports no device while CUDA_VISIBLE_DEVICES is set
 * otherwise        two V100s
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 12060
#endif

typedef struct {
    const char *name, *bus;
    unsigned char uuid[16];
    int major, minor, integrated;
} gpu;

static const gpu gpus[] = {
#if defined(UNLIKE)
    {"NVIDIA GeForce RTX 4090", "0000:02:00.0",
     {0x9e, 0x8d, 0x35, 0xe3, 0xa1, 0x34, 0x0f, 0xdd, 0x0e, 0x01, 0x23, 0x81, 0x1f, 0xdb, 0xd2, 0x93}, 8, 9, 0},
    {"NVIDIA GeForce GTX 1080 Ti", "0000:01:00.0",
     {0x99, 0x42, 0x19, 0x0a, 0xaa, 0x31, 0x4f, 0xf1, 0x4a, 0xa9, 0xc3, 0x88, 0xd8, 0x0f, 0x85, 0xf1}, 6, 1, 0},
#elif defined(MIG_INSTANCE)
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "0000:07:00.0",
     {0xfe, 0xee, 0x0c, 0x61, 0x26, 0xec, 0x56, 0x16, 0xbb, 0x59, 0xb6, 0xd7, 0x77, 0xcc, 0x4f, 0x34}, 8, 0, 0},
#elif defined(ORIN)
    {"Orin", "0000:00:00.0", {1}, 8, 7, 1},
#else
    {"Tesla V100-SXM2-16GB", "0000:06:00.0", {2}, 7, 0, 0},
    {"Tesla V100-SXM2-16GB", "0000:07:00.0", {3}, 7, 0, 0},
#endif
};

int cuDriverGetVersion(int *version) {
#if defined(GARBAGE)
    *version = -1;
#else
    *version = VERSION;
#endif
    return 0;
}

int cuInit(unsigned flags) {
    (void)flags;
#if defined(HANG)
    for (;;) pause();
#elif defined(CRASH)
    *(volatile int *)0 = 1;
#elif defined(NO_DEVICE)
    return 100;
#elif defined(NO_COMPAT)
    return 804;
#elif defined(FLOOD)
    for (;;) puts("cuInit");
#elif defined(MIG_INSTANCE)
    if (!getenv("CUDA_VISIBLE_DEVICES")) return 100;
#elif defined(MASKED)
    if (getenv("CUDA_VISIBLE_DEVICES")) return 100;
#endif
    return 0;
}

int cuDeviceGetCount(int *count) {
#if defined(GARBAGE)
    *count = -5;
#else
    *count = sizeof gpus / sizeof gpus[0];
#endif
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, gpus[device].name, (size_t)length);
    return 0;
}

#ifdef BARE
int cuDeviceComputeCapability(int *major, int *minor, int device) {
    *major = gpus[device].major;
    *minor = gpus[device].minor;
    return 0;
}
#else
int cuDeviceGetUuid_v2(void *uuid, int device) {
    memcpy(uuid, gpus[device].uuid, 16);
    return 0;
}

int cuDeviceGetPCIBusId(char *bus, int length, int device) {
    strncpy(bus, gpus[device].bus, (size_t)length);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 18: *value = gpus[device].integrated; return 0;
    case 75: *value = gpus[device].major; return 0;
    case 76: *value = gpus[device].minor; return 0;
    default: return 1;
    }
}
#endif
