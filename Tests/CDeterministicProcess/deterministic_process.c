#define _GNU_SOURCE
#include "deterministic_process.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// MARK: Numbers

/// Whether jobs are queued here, and whether clocks and randomness follow from a seed.
static bool is_installed, is_active;

static uint64_t next_number(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// The randomness that the process asks the system for, and the order of jobs: apart, so that neither changes the other.
static uint64_t randomness, order;

static void fill_randomly(unsigned char *bytes, size_t count) {
    while (count > 0) {
        uint64_t number = next_number(&randomness);
        size_t part = count < sizeof number ? count : sizeof number;
        memcpy(bytes, &number, part);
        bytes += part;
        count -= part;
    }
}

// MARK: Jobs

typedef struct {
    /// A job of Swift, the context of a function, or a block.
    void *object;
    /// The function of a job of Dispatch; null for a job of Swift and a block.
    void (*function)(void *);
    /// The queue of Dispatch, whose jobs run in their order; null for a job of Swift.
    void *queue;
    bool is_block;
    int64_t due;
} Job;


typedef struct {
    Job *items;
    size_t count, room;
} Jobs;

static Jobs ready, timers;
static uint64_t jobs_run;
static int64_t now;

static void add(Jobs *jobs, Job job) {
    if (jobs->count == jobs->room) {
        jobs->room = jobs->room ? jobs->room * 2 : 64;
        jobs->items = realloc(jobs->items, jobs->room * sizeof(Job));
        if (!jobs->items) abort();
    }
    jobs->items[jobs->count++] = job;
}

static Job removed(Jobs *jobs, size_t index) {
    Job job = jobs->items[index];
    jobs->count--;
    memmove(jobs->items + index, jobs->items + index + 1, (jobs->count - index) * sizeof(Job));
    return job;
}

// MARK: Swift's tasks

#define SWIFT_CC __attribute__((swiftcall))

typedef SWIFT_CC void (*EnqueueHook)(void *job, void *original);
typedef SWIFT_CC void (*DelayHook)(unsigned long long delay, void *job, void *original);
typedef SWIFT_CC void (*DeadlineHook)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock,
    void *job, void *original);
typedef SWIFT_CC void (*JobRun)(void *job, void *identity, uintptr_t implementation);

static JobRun run_swift_job;

static SWIFT_CC void enqueue(void *job, void *original) {
    (void)original;
    add(&ready, (Job){.object = job});
}

static SWIFT_CC void enqueue_after(unsigned long long delay, void *job, void *original) {
    (void)original;
    add(&timers, (Job){.object = job, .due = now + (int64_t)delay});
}

static SWIFT_CC void enqueue_at(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock,
    void *job, void *original
) {
    (void)tolerance_seconds, (void)tolerance_nanoseconds, (void)clock, (void)original;
    add(&timers, (Job){.object = job, .due = seconds * 1000000000 + nanoseconds});
}

// MARK: Dispatch

extern void *_Block_copy(const void *);
extern void _Block_release(const void *);

typedef struct {
    void *isa;
    int flags, reserved;
    void (*invoke)(void *);
} Block;

extern void *dispatch_get_global_queue(intptr_t quality, uintptr_t flags);

/// Returns the queue if its jobs have an order; the jobs of the global queues have none.
static void *ordered(void *queue) {
    static const intptr_t qualities[] = {0x05, 0x09, 0x11, 0x15, 0x19, 0x21};
    static void *unordered[12];
    if (!unordered[0]) {
        for (int i = 0; i < 12; i++) unordered[i] = dispatch_get_global_queue(qualities[i / 2], i % 2 ? 2 : 0);
    }
    for (int i = 0; i < 12; i++) {
        if (unordered[i] == queue) return NULL;
    }
    return queue;
}

#define REAL(name, ...) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

void dispatch_async(void *queue, void *block) {
    if (!is_installed) return REAL(dispatch_async, queue, block);
    add(&ready, (Job){.object = _Block_copy(block), .queue = ordered(queue), .is_block = true});
}

void dispatch_async_f(void *queue, void *context, void (*function)(void *)) {
    if (!is_installed) return REAL(dispatch_async_f, queue, context, function);
    add(&ready, (Job){.object = context, .function = function, .queue = ordered(queue)});
}

/// The source of a timer, as far as Swift's runtime uses one: it fires once.
typedef struct {
    uint64_t mark;
    void *queue, *context;
    void (*handler)(void *);
    uint64_t start;
} Timer;

/// Tells timers from the objects of Dispatch.
#define TIMER_MARK 0x74696D6572736F75u

/// The deadlines of clocks that run on have the highest bit.
#define CLOCK_BIT (UINT64_C(1) << 63)

static Timer *timer_of(void *object) {
    Timer *timer = object;
    return timer->mark == TIMER_MARK ? timer : NULL;
}

static int64_t due(uint64_t start) {
    uint64_t deadline = start & ~CLOCK_BIT;
    // A time of day, or never.
    if (deadline >> 62) abort();
    return (int64_t)deadline;
}

void dispatch_after_f(uint64_t start, void *queue, void *context, void (*function)(void *)) {
    if (!is_installed) return REAL(dispatch_after_f, start, queue, context, function);
    add(&timers, (Job){.object = context, .function = function, .queue = ordered(queue), .due = due(start)});
}

extern char _dispatch_source_type_timer;

void *dispatch_source_create(const void *type, uintptr_t handle, uintptr_t mask, void *queue) {
    if (!is_installed || type != &_dispatch_source_type_timer) return REAL(dispatch_source_create, type, handle, mask, queue);
    Timer *timer = calloc(1, sizeof(Timer));
    if (!timer) abort();
    timer->mark = TIMER_MARK;
    timer->queue = queue;
    return timer;
}

void dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
    Timer *timer = timer_of(source);
    if (!timer) return REAL(dispatch_source_set_timer, source, start, interval, leeway);
    timer->start = start;
}

void dispatch_source_set_event_handler_f(void *source, void (*handler)(void *)) {
    Timer *timer = timer_of(source);
    if (!timer) return REAL(dispatch_source_set_event_handler_f, source, handler);
    timer->handler = handler;
}

void dispatch_set_context(void *object, void *context) {
    Timer *timer = timer_of(object);
    if (!timer) return REAL(dispatch_set_context, object, context);
    timer->context = context;
}

void dispatch_activate(void *object) {
    Timer *timer = timer_of(object);
    if (!timer) return REAL(dispatch_activate, object);
    dispatch_after_f(timer->start, timer->queue, timer->context, timer->handler);
}

void dispatch_release(void *object) {
    Timer *timer = timer_of(object);
    if (!timer) return REAL(dispatch_release, object);
    free(timer);
}

/// Dispatch would start a thread to change the width.
void dispatch_queue_set_width(void *queue, long width) {
    if (!is_installed) REAL(dispatch_queue_set_width, queue, width);
}

/// The function by which Swift's runtime gives jobs to Dispatch where it does not ask the hooks. It looks it up behind this program, so
/// the look-up is replaced.
static void enqueue_by_name(void *queue, void *job, unsigned quality) {
    (void)queue, (void)quality;
    add(&ready, (Job){.object = job});
}

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real) real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real) real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (is_installed && strcmp(name, "dispatch_async_swift_job") == 0) return (void *)enqueue_by_name;
    return real(handle, name);
}

static void run(Job job) {
    if (job.is_block) {
        ((Block *)job.object)->invoke(job.object);
        _Block_release(job.object);
    } else if (job.function) {
        job.function(job.object);
    } else {
        run_swift_job(job.object, NULL, 0);
    }
}

// MARK: The system's clocks and randomness

/// The time of day at the beginning of each history, seconds since 1970.
#define FIRST_SECOND 1800000000

static int (*real_clock)(clockid_t, struct timespec *);
static long (*real_syscall)(long, ...);

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!is_active) {
        if (!real_clock) real_clock = dlsym(RTLD_NEXT, "clock_gettime");
        return real_clock(clock, time);
    }
    time->tv_sec = now / 1000000000 + (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? FIRST_SECOND : 0);
    time->tv_nsec = now % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (seconds) *seconds = precise.tv_sec;
    return precise.tv_sec;
}

long syscall(long number, ...);

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    return syscall(SYS_getrandom, bytes, count, flags);
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
         e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && is_active) {
        fill_randomly((unsigned char *)a, (size_t)b);
        return b;
    }
    if (!real_syscall) real_syscall = dlsym(RTLD_NEXT, "syscall");
    return real_syscall(number, a, b, c, d, e, f);
}

int getentropy(void *bytes, size_t count) { return syscall(SYS_getrandom, bytes, count, 0) == (long)count ? 0 : -1; }

// MARK: Files

enum { DISKS_MAX = 16, FILES_MAX = 1024 };

/// What a file was before a change.
typedef struct {
    char *path;
    unsigned char *bytes;
    size_t count;
    bool existed;
} Earlier;

typedef struct {
    char folder[48];
    bool is_full, is_watched;
    /// What files were before the changes since the last sync, in their order.
    Earlier *earlier;
    int count, room;
} Disk;

/// The disks that something was said about. A file has the number of its disk, counted from 1; 0: none of them.
static Disk disks[DISKS_MAX];
static unsigned char disk_of_file[FILES_MAX];
/// The paths of the files of watched disks.
static char *path_of_file[FILES_MAX];

/// Foundation makes UUIDs from what it reads from a file of randomness.
static bool is_randomness[FILES_MAX];

/// Whether something is remembered of the file.
static bool is_known(int file) { return file >= 0 && file < FILES_MAX; }

static Disk *disk_named(const char *folder) {
    for (int i = 0; i < DISKS_MAX; i++) {
        if (disks[i].folder[0] == 0) snprintf(disks[i].folder, sizeof disks[i].folder, "%s", folder);
        if (strcmp(disks[i].folder, folder) == 0) return &disks[i];
    }
    abort();
}

static unsigned char disk_of(const char *path) {
    for (int i = 0; i < DISKS_MAX && disks[i].folder[0]; i++) {
        if (strstr(path, disks[i].folder)) return (unsigned char)(i + 1);
    }
    return 0;
}

// A full disk

void deterministic_fill_disk(const char *folder, bool is_full) { disk_named(folder)->is_full = is_full; }

/// Whether something cannot be written; sets the error number.
static bool has_no_room(unsigned char disk) {
    if (disk == 0 || !disks[disk - 1].is_full) return false;
    errno = ENOSPC;
    return true;
}

static bool has_no_room_in_file(int file) { return is_known(file) && has_no_room(disk_of_file[file]); }

// Lost power

/// Remembers what a file is, before a change of it.
static void remember(const char *path) {
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open");
    unsigned char number = disk_of(path);
    if (number == 0 || !disks[number - 1].is_watched) return;
    Disk *disk = &disks[number - 1];
    if (disk->count == disk->room) {
        disk->room = disk->room ? disk->room * 2 : 64;
        disk->earlier = realloc(disk->earlier, (size_t)disk->room * sizeof(Earlier));
        if (!disk->earlier) abort();
    }
    Earlier *earlier = &disk->earlier[disk->count++];
    *earlier = (Earlier){.path = strdup(path)};
    struct stat status;
    int file = real(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        earlier->existed = true;
        earlier->count = (size_t)status.st_size;
        earlier->bytes = malloc(earlier->count + 1);
        if (!earlier->bytes || pread(file, earlier->bytes, earlier->count, 0) != (ssize_t)earlier->count) abort();
    }
    close(file);
}

static void remember_file(int file) {
    if (is_known(file) && path_of_file[file]) remember(path_of_file[file]);
}

static void forget(Earlier *earlier) {
    free(earlier->path);
    free(earlier->bytes);
}

void deterministic_watch_disk(const char *folder) { disk_named(folder)->is_watched = true; }

int deterministic_unsynced(const char *folder) { return disk_named(folder)->count; }

void deterministic_sync_disk(const char *folder) {
    Disk *disk = disk_named(folder);
    while (disk->count > 0) forget(&disk->earlier[--disk->count]);
}

void deterministic_lose_power(const char *folder, int kept) {
    Disk *disk = disk_named(folder);
    bool was_watched = disk->is_watched, was_full = disk->is_full;
    disk->is_watched = disk->is_full = false;
    while (disk->count > kept) {
        Earlier *earlier = &disk->earlier[--disk->count];
        if (earlier->existed) {
            int file = open(earlier->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            // Its folder may be gone.
            if (file >= 0 && write(file, earlier->bytes, earlier->count) != (ssize_t)earlier->count) abort();
            if (file >= 0) close(file);
        } else {
            unlink(earlier->path);
        }
        forget(earlier);
    }
    deterministic_sync_disk(folder);
    disk->is_watched = was_watched;
    disk->is_full = was_full;
}

// Calls

int open(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open");
    unsigned char disk = disk_of(path);
    bool is_new = flags & O_CREAT && access(path, F_OK) != 0;
    if (is_new && has_no_room(disk)) return -1;
    if (is_new || flags & O_TRUNC) remember(path);
    va_list list;
    va_start(list, flags);
    int file = real(path, flags, va_arg(list, int));
    va_end(list);
    if (is_known(file)) {
        is_randomness[file] = strcmp(path, "/dev/urandom") == 0;
        disk_of_file[file] = disk;
        if (disk && disks[disk - 1].is_watched && (flags & O_ACCMODE) != O_RDONLY) path_of_file[file] = strdup(path);
    }
    return file;
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    if (has_no_room_in_file(file)) return -1;
    remember_file(file);
    return real(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite");
    if (has_no_room_in_file(file)) return -1;
    remember_file(file);
    return real(file, bytes, count, offset);
}

int ftruncate(int file, off_t length) {
    static int (*real)(int, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "ftruncate");
    remember_file(file);
    return real(file, length);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    unsigned char disk = is_known(file) ? disk_of_file[file] : 0;
    if (disk && disks[disk - 1].is_watched) deterministic_sync_disk(disks[disk - 1].folder);
    return real(file);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = dlsym(RTLD_NEXT, "rename");
    remember(to);
    remember(from);
    return real(from, to);
}

int link(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = dlsym(RTLD_NEXT, "link");
    if (access(to, F_OK) != 0) remember(to);
    return real(from, to);
}

int unlink(const char *path) {
    static int (*real)(const char *);
    if (!real) real = dlsym(RTLD_NEXT, "unlink");
    remember(path);
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    static int (*real)(const char *, mode_t);
    if (!real) real = dlsym(RTLD_NEXT, "mkdir");
    return access(path, F_OK) != 0 && has_no_room(disk_of(path)) ? -1 : real(path, mode);
}

ssize_t read(int file, void *bytes, size_t count) {
    static ssize_t (*real)(int, void *, size_t);
    if (is_active && is_known(file) && is_randomness[file]) {
        fill_randomly(bytes, count);
        return (ssize_t)count;
    }
    if (!real) real = dlsym(RTLD_NEXT, "read");
    return real(file, bytes, count);
}

int close(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "close");
    if (is_known(file)) {
        is_randomness[file] = disk_of_file[file] = false;
        free(path_of_file[file]);
        path_of_file[file] = NULL;
    }
    return real(file);
}

// MARK: The loop

static bool set_hook(const char *name, void *function) {
    void **hook = dlsym(RTLD_DEFAULT, name);
    if (hook) *hook = function;
    return hook != NULL;
}

bool deterministic_install(void) {
    is_installed = true;
    *(void **)&run_swift_job = dlsym(RTLD_DEFAULT, "swift_job_run");
    return run_swift_job && set_hook("swift_task_enqueueGlobal_hook", (void *)enqueue)
        && set_hook("swift_task_enqueueMainExecutor_hook", (void *)enqueue)
        && set_hook("swift_task_enqueueGlobalWithDelay_hook", (void *)enqueue_after)
        && set_hook("swift_task_enqueueGlobalWithDeadline_hook", (void *)enqueue_at)
        && dlsym(RTLD_DEFAULT, "dispatch_async") == (void *)dispatch_async
        && dlsym(RTLD_DEFAULT, "clock_gettime") == (void *)clock_gettime
        && dlsym(RTLD_DEFAULT, "syscall") == (void *)syscall;
}

void deterministic_begin(uint64_t seed) {
    ready.count = timers.count = 0;
    jobs_run = 0;
    randomness = seed;
    order = ~seed;
    is_active = true;
}

/// Moves the timers that are due to the jobs that can run.
static void ring(void) {
    for (size_t i = 0; i < timers.count;) {
        if (timers.items[i].due <= now) {
            add(&ready, removed(&timers, i));
        } else {
            i++;
        }
    }
}

bool deterministic_step(void) {
    if (ready.count == 0) {
        if (timers.count == 0) return false;
        int64_t due = timers.items[0].due;
        for (size_t i = 1; i < timers.count; i++) {
            if (timers.items[i].due < due) due = timers.items[i].due;
        }
        if (due > now) now = due;
        ring();
        return true;
    }
    // Work takes time: a job a microsecond.
    now += 1000;
    ring();
    size_t index = next_number(&order) % ready.count;
    void *queue = ready.items[index].queue;
    if (queue) {
        // The first one of its queue; they were added in their order.
        for (size_t i = 0; i < index; i++) {
            if (ready.items[i].queue == queue) {
                index = i;
                break;
            }
        }
    }
    jobs_run++;
    run(removed(&ready, index));
    return true;
}

int64_t deterministic_now(void) { return now; }

void deterministic_suspend(int64_t nanoseconds) { now += nanoseconds; }

int deterministic_fork(void) { return fork(); }

bool deterministic_fix_addresses(void) {
    int personality_now = personality(0xFFFFFFFF);
    return personality_now >= 0 && ((personality_now & ADDR_NO_RANDOMIZE) || personality((unsigned long)personality_now | ADDR_NO_RANDOMIZE) >= 0);
}

uint64_t deterministic_jobs(void) { return jobs_run; }

int deterministic_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}
