/* A libnvidia-ml.so.1 that answers without a GPU. Built by the tests; see nvml.h for the real one.
 *
 * -DMIG            an A100 in two MIG instances, and a T4
 * -DUNLIKE         a GTX 1080 Ti and an RTX 4090, in PCI order
 * -DHANG           never comes back from nvmlInit_v2
 * -DCRASH          dies of SIGSEGV while the second device is asked about
 * -DGARBAGE        answers, and none of it can be true
 * -DFLOOD          writes 32 MiB to stdout and stderr before it answers
 * -DNO_DRIVER      NVML_ERROR_DRIVER_NOT_LOADED
 * -DMISMATCH       NVML_ERROR_LIB_RM_VERSION_MISMATCH
 * -DLOST           the second of two H100s has fallen off the bus
 * otherwise        two H100s
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_sub_system_id;
    char bus_id[32];
} pci_info;

typedef struct {
    const char *name, *uuid, *bus_id;
    int major, minor, mig;
} gpu;

static const gpu gpus[] = {
#if defined(MIG)
    {"NVIDIA A100-SXM4-40GB", "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", "00000000:07:00.0", 8, 0, 1},
    {"Tesla T4", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "00000000:0A:00.0", 7, 5, 0},
#elif defined(UNLIKE)
    {"NVIDIA GeForce GTX 1080 Ti", "GPU-9942190a-aa31-4ff1-4aa9-c388d80f85f1", "00000000:01:00.0", 6, 1, -1},
    {"NVIDIA GeForce RTX 4090", "GPU-9e8d35e3-a134-0fdd-0e01-23811fdbd293", "00000000:02:00.0", 8, 9, -1},
#else
    {"NVIDIA H100 80GB HBM3", "GPU-e429a63e-c61c-4795-b757-5132caeb8e70", "00000000:1B:00.0", 9, 0, 0},
    {"NVIDIA H100 80GB HBM3", "GPU-eee1dfbc-0a0f-6ad8-5ff6-dc942a8b9d98", "00000000:43:00.0", 9, 0, 0},
#endif
};

static const gpu mig_instances[] = {
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "MIG-89c850dc-5a7a-5e0c-8bf5-2a2d6ad6d0f5", "", 8, 0, 0},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "MIG-f2b5fbbd-4a6a-5a3f-9f8b-1d1d1c1b1a19", "", 8, 0, 0},
};

static int put(char *buffer, unsigned length, const char *text) {
    if (strlen(text) + 1 > length) return 7;
    strcpy(buffer, text);
    return 0;
}

int nvmlInit_v2(void) {
#if defined(HANG)
    for (;;) pause();
#elif defined(FLOOD)
    static char line[1 << 16];
    memset(line, '#', sizeof line);
    for (int times = 0; times < 256; times++) {
        fwrite(line, 1, sizeof line, stdout);
        fwrite(line, 1, sizeof line, stderr);
    }
#elif defined(NO_DRIVER)
    return 9;
#elif defined(MISMATCH)
    return 18;
#endif
    return 0;
}

int nvmlSystemGetDriverVersion(char *buffer, unsigned length) {
#if defined(GARBAGE)
    return put(buffer, length, "\x7f\xff\xfe%s%n");
#elif defined(MIG) || defined(UNLIKE)
    return put(buffer, length, "550.144.03");
#else
    return put(buffer, length, "570.86.10");
#endif
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
#if defined(GARBAGE)
    *version = 2147483647;
#elif defined(MIG) || defined(UNLIKE)
    *version = 12040;
#else
    *version = 12080;
#endif
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
#if defined(GARBAGE)
    *count = 0xffffffffu;
#else
    *count = sizeof gpus / sizeof gpus[0];
#endif
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, const gpu **device) {
#if defined(CRASH)
    if (index == 1) *(volatile int *)0 = 1;
#elif defined(LOST)
    if (index == 1) return 15;
#endif
    *device = &gpus[index % 2];
    return 0;
}

int nvmlDeviceGetName(const gpu *device, char *buffer, unsigned length) {
#if defined(GARBAGE)
    (void)device;
    memset(buffer, 0xff, length);
    return 0;
#else
    return put(buffer, length, device->name);
#endif
}

int nvmlDeviceGetUUID(const gpu *device, char *buffer, unsigned length) {
    return put(buffer, length, device->uuid);
}

int nvmlDeviceGetCudaComputeCapability(const gpu *device, int *major, int *minor) {
#if defined(GARBAGE)
    (void)device;
    *major = -7;
    *minor = 1 << 30;
#else
    *major = device->major;
    *minor = device->minor;
#endif
    return 0;
}

int nvmlDeviceGetPciInfo_v3(const gpu *device, pci_info *pci) {
    memset(pci, 0, sizeof *pci);
    return put(pci->bus_id, sizeof pci->bus_id, device->bus_id);
}

int nvmlDeviceGetMigMode(const gpu *device, unsigned *current, unsigned *pending) {
    if (device->mig < 0) return 3;
    *current = *pending = (unsigned)device->mig;
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(const gpu *device, unsigned *count) {
    (void)device;
    *count = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(const gpu *device, unsigned index, const gpu **instance) {
    (void)device;
    if (index >= sizeof mig_instances / sizeof mig_instances[0]) return 6;
    *instance = &mig_instances[index];
    return 0;
}
