#define _GNU_SOURCE
#include "faulty_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// MARK: The fault

static atomic_uint fault_kinds;
static atomic_long fault_at;
static atomic_int fault_persistent;
static atomic_int fault_error;
static atomic_int fault_manner;
static atomic_long fault_count;
static _Atomic(faulty_observer) current_observer;

void faulty_files_arm(unsigned kinds, long at, int persistent, int error, int manner) {
    atomic_store(&fault_count, 0);
    atomic_store(&fault_at, at);
    atomic_store(&fault_persistent, persistent);
    atomic_store(&fault_error, error);
    atomic_store(&fault_manner, manner);
    atomic_store(&fault_kinds, kinds);
}

long faulty_files_disarm(void) {
    atomic_store(&fault_kinds, 0);
    return atomic_load(&fault_count);
}

void faulty_files_observe(faulty_observer observer) { atomic_store(&current_observer, observer); }

long long faulty_files_memory(void) { return sqlite3_memory_used(); }

enum { CALL_GOES_ON, CALL_FAILS, CALL_IS_SHORT };

static int fate(unsigned kind) {
    if (!(atomic_load(&fault_kinds) & kind)) return CALL_GOES_ON;
    long number = atomic_fetch_add(&fault_count, 1) + 1;
    long at = atomic_load(&fault_at);
    if (at == 0 || number < at) return CALL_GOES_ON;
    int persistent = atomic_load(&fault_persistent);
    switch (atomic_load(&fault_manner)) {
        case FAULTY_FAILS: return number == at || persistent ? CALL_FAILS : CALL_GOES_ON;
        case FAULTY_SHORT: return number == at || persistent ? CALL_IS_SHORT : CALL_GOES_ON;
        default:
            if (number == at) return CALL_IS_SHORT;
            return number == at + 1 || persistent ? CALL_FAILS : CALL_GOES_ON;
    }
}

// Whether a call without parts fails; sets the error number.
static int fails(unsigned kind) {
    if (fate(kind) == CALL_GOES_ON) return 0;
    errno = atomic_load(&fault_error);
    return 1;
}

// The bytes that a call may move; negative when it fails.
static long long allowed(unsigned kind, size_t count) {
    switch (fate(kind)) {
        case CALL_GOES_ON: return (long long)count;
        case CALL_IS_SHORT: return count > 1 ? (long long)(count / 2) : (long long)count;
        default: errno = atomic_load(&fault_error); return -1;
    }
}

static void report(int event, const char *path, long long offset, const void *data, long long count) {
    faulty_observer observer = atomic_load(&current_observer);
    if (observer) observer(event, path ? path : "", offset, data, count);
}

// MARK: System calls

static int (*system_open)(const char *, int, int);
static ssize_t (*system_read)(int, void *, size_t);
static ssize_t (*system_pread)(int, void *, size_t, off_t);
static ssize_t (*system_pread64)(int, void *, size_t, off_t);
static ssize_t (*system_write)(int, const void *, size_t);
static ssize_t (*system_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*system_pwrite64)(int, const void *, size_t, off_t);
static int (*system_ftruncate)(int, off_t);
static int (*system_fstat)(int, struct stat *);
static int (*system_stat)(const char *, struct stat *);
static int (*system_fcntl)(int, int, ...);
static int (*system_unlink)(const char *);
static void *(*system_mmap)(void *, size_t, int, int, int, off_t);

static int faulty_open(const char *path, int flags, int mode) {
    return fails(FAULTY_OPEN) ? -1 : system_open(path, flags, mode);
}

static ssize_t faulty_read(int file, void *data, size_t count) {
    long long part = allowed(FAULTY_READ, count);
    return part < 0 ? -1 : system_read(file, data, (size_t)part);
}

static ssize_t faulty_pread(int file, void *data, size_t count, off_t offset) {
    long long part = allowed(FAULTY_READ, count);
    return part < 0 ? -1 : system_pread(file, data, (size_t)part, offset);
}

static ssize_t faulty_pread64(int file, void *data, size_t count, off_t offset) {
    long long part = allowed(FAULTY_READ, count);
    return part < 0 ? -1 : system_pread64(file, data, (size_t)part, offset);
}

static ssize_t faulty_write(int file, const void *data, size_t count) {
    long long part = allowed(FAULTY_WRITE, count);
    return part < 0 ? -1 : system_write(file, data, (size_t)part);
}

static ssize_t faulty_pwrite(int file, const void *data, size_t count, off_t offset) {
    long long part = allowed(FAULTY_WRITE, count);
    return part < 0 ? -1 : system_pwrite(file, data, (size_t)part, offset);
}

static ssize_t faulty_pwrite64(int file, const void *data, size_t count, off_t offset) {
    long long part = allowed(FAULTY_WRITE, count);
    return part < 0 ? -1 : system_pwrite64(file, data, (size_t)part, offset);
}

static int faulty_ftruncate(int file, off_t length) {
    return fails(FAULTY_TRUNCATE) ? -1 : system_ftruncate(file, length);
}

static int faulty_fstat(int file, struct stat *status) {
    return fails(FAULTY_STATUS) ? -1 : system_fstat(file, status);
}

static int faulty_stat(const char *path, struct stat *status) {
    return fails(FAULTY_STATUS) ? -1 : system_stat(path, status);
}

static int faulty_fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    // Locks are released even by a system that grants none.
    int takes = command == F_SETLK && ((struct flock *)argument)->l_type != F_UNLCK;
    return takes && fails(FAULTY_LOCK) ? -1 : system_fcntl(file, command, argument);
}

static int faulty_unlink(const char *path) {
    return fails(FAULTY_DELETE) ? -1 : system_unlink(path);
}

static void *faulty_mmap(void *place, size_t count, int protection, int flags, int file, off_t offset) {
    return fails(FAULTY_MAP) ? MAP_FAILED : system_mmap(place, count, protection, flags, file, offset);
}

// Replaces a system call that this build of SQLite makes; one that it does not make has no address.
#define REPLACE(name)                                                                          \
    do {                                                                                       \
        sqlite3_syscall_ptr held = files->xGetSystemCall(files, #name);                        \
        if (held) {                                                                            \
            memcpy(&system_##name, &held, sizeof held);                                        \
            if (files->xSetSystemCall(files, #name, (sqlite3_syscall_ptr)faulty_##name)) return 0; \
        }                                                                                      \
    } while (0)

static int replace_calls(sqlite3_vfs *files) {
    REPLACE(open);
    REPLACE(read);
    REPLACE(pread);
    REPLACE(pread64);
    REPLACE(write);
    REPLACE(pwrite);
    REPLACE(pwrite64);
    REPLACE(ftruncate);
    REPLACE(fstat);
    REPLACE(stat);
    REPLACE(fcntl);
    REPLACE(unlink);
    REPLACE(mmap);
    return 1;
}

// MARK: Memory

static sqlite3_mem_methods system_memory;

static void *faulty_malloc(int count) {
    return fails(FAULTY_MEMORY) ? NULL : system_memory.xMalloc(count);
}

static void *faulty_realloc(void *held, int count) {
    return fails(FAULTY_MEMORY) ? NULL : system_memory.xRealloc(held, count);
}

static int replace_memory(void) {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory)) return 0;
    sqlite3_mem_methods methods = system_memory;
    methods.xMalloc = faulty_malloc;
    methods.xRealloc = faulty_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods)) return 0;
    // Every small piece of memory is asked for, so that every one can be refused.
    return sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK;
}

// MARK: Files

typedef struct {
    sqlite3_file base;
    // Kept by SQLite for as long as the file is open.
    const char *path;
    sqlite3_file *real;
} faulty_file;

static sqlite3_vfs *system_files;

static sqlite3_file *real(sqlite3_file *file) { return ((faulty_file *)file)->real; }
static const char *path_of(sqlite3_file *file) { return ((faulty_file *)file)->path; }

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *data, int count, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), data, count, offset);
}

static int file_write(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset) {
    int result = real(file)->pMethods->xWrite(real(file), data, count, offset);
    if (result == SQLITE_OK) report(FAULTY_WRITTEN, path_of(file), offset, data, count);
    return result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 length) {
    int result = real(file)->pMethods->xTruncate(real(file), length);
    if (result == SQLITE_OK) report(FAULTY_TRUNCATED, path_of(file), length, NULL, 0);
    return result;
}

// The disk itself is not waited for: what it would have kept is decided by who replays the changes.
static int file_sync(sqlite3_file *file, int flags) {
    (void)flags;
    if (fails(FAULTY_SYNC)) return SQLITE_IOERR_FSYNC;
    report(FAULTY_SYNC_BEGAN, path_of(file), 0, NULL, 0);
    report(FAULTY_SYNC_ENDED, path_of(file), 0, NULL, 0);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int file_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }

static int file_check_lock(sqlite3_file *file, int *held) {
    return real(file)->pMethods->xCheckReservedLock(real(file), held);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int count, int extends, void volatile **memory) {
    return real(file)->pMethods->xShmMap(real(file), page, count, extends, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    // Lock 1 is WAL_CKPT_LOCK of the format of the log's index.
    if (offset == 1 && count == 1 && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)) {
        report(FAULTY_CHECKPOINT_LOCKS, path_of(file), 0, NULL, 0);
    }
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int file_shm_unmap(sqlite3_file *file, int deletes) {
    return real(file)->pMethods->xShmUnmap(real(file), deletes);
}

// Files are not mapped: every change passes `file_write`.
static int file_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **data) {
    (void)file, (void)offset, (void)count;
    *data = NULL;
    return SQLITE_OK;
}

static int file_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *data) {
    (void)offset;
    if (!data) report(FAULTY_CHECKPOINT_READ_HEADER, path_of(file), 0, NULL, 0);
    return SQLITE_OK;
}

static const sqlite3_io_methods file_methods = {
    3, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_check_lock,
    file_control, file_sector, file_characteristics, file_shm_map, file_shm_lock, file_shm_barrier, file_shm_unmap,
    file_fetch, file_unfetch,
};

static size_t header_bytes(void) { return (sizeof(faulty_file) + 15) & ~(size_t)15; }

static int files_open(sqlite3_vfs *files, sqlite3_filename name, sqlite3_file *file, int flags, int *out) {
    (void)files;
    faulty_file *faulty = (faulty_file *)file;
    faulty->base.pMethods = NULL;
    faulty->path = name;
    faulty->real = (sqlite3_file *)((char *)file + header_bytes());
    int is_new = name && (flags & SQLITE_OPEN_CREATE) && access(name, F_OK) != 0;
    int result = system_files->xOpen(system_files, name, faulty->real, flags, out);
    if (faulty->real->pMethods) faulty->base.pMethods = &file_methods;
    if (result == SQLITE_OK && is_new) report(FAULTY_CREATED, name, 0, NULL, 0);
    return result;
}

static int files_delete(sqlite3_vfs *files, const char *name, int syncs) {
    (void)files;
    int result = system_files->xDelete(system_files, name, syncs);
    if (result == SQLITE_OK) report(FAULTY_DELETED, name, syncs, NULL, 0);
    return result;
}

static int files_access(sqlite3_vfs *files, const char *name, int flags, int *answer) {
    (void)files;
    return system_files->xAccess(system_files, name, flags, answer);
}

static int files_full_path(sqlite3_vfs *files, const char *name, int count, char *full) {
    (void)files;
    return system_files->xFullPathname(system_files, name, count, full);
}

static int files_randomness(sqlite3_vfs *files, int count, char *bytes) {
    (void)files;
    return system_files->xRandomness(system_files, count, bytes);
}

static int files_sleep(sqlite3_vfs *files, int microseconds) {
    (void)files;
    // SQLite waits 10 seconds for a lock that it cannot take.
    if (atomic_load(&fault_kinds) & FAULTY_LOCK) microseconds /= 200;
    return system_files->xSleep(system_files, microseconds);
}

static int files_time(sqlite3_vfs *files, double *days) {
    (void)files;
    return system_files->xCurrentTime(system_files, days);
}

static int files_time64(sqlite3_vfs *files, sqlite3_int64 *milliseconds) {
    (void)files;
    return system_files->xCurrentTimeInt64(system_files, milliseconds);
}

static int files_last_error(sqlite3_vfs *files, int count, char *text) {
    (void)files;
    return system_files->xGetLastError(system_files, count, text);
}

int faulty_files_install(void) {
    static sqlite3_vfs faulty_files;
    if (!replace_memory()) return 0;
    system_files = sqlite3_vfs_find(NULL);
    if (!system_files || !replace_calls(system_files)) return 0;
    faulty_files.iVersion = 2;
    faulty_files.szOsFile = (int)header_bytes() + system_files->szOsFile;
    faulty_files.mxPathname = system_files->mxPathname;
    faulty_files.zName = "faulty";
    faulty_files.xOpen = files_open;
    faulty_files.xDelete = files_delete;
    faulty_files.xAccess = files_access;
    faulty_files.xFullPathname = files_full_path;
    faulty_files.xRandomness = files_randomness;
    faulty_files.xSleep = files_sleep;
    faulty_files.xCurrentTime = files_time;
    faulty_files.xGetLastError = files_last_error;
    faulty_files.xCurrentTimeInt64 = files_time64;
    return sqlite3_vfs_register(&faulty_files, 1) == SQLITE_OK;
}
