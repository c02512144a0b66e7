// The files and the memory of SQLite in this process, with faults on request and every change observed.
//
// System calls are replaced where SQLite allows it (xSetSystemCall), so that its own handling of short reads and writes and of
// error numbers is tried too; syncs and locks pass through a layer over the system's files, which is the default.
#ifndef FAULTY_FILES_H
#define FAULTY_FILES_H

// Kinds of calls; a fault names a set of them.
enum {
    FAULTY_OPEN = 1,
    FAULTY_READ = 2,
    FAULTY_WRITE = 4,
    FAULTY_TRUNCATE = 8,
    FAULTY_SYNC = 16,
    FAULTY_MAP = 32,
    FAULTY_STATUS = 64,
    FAULTY_DELETE = 128,
    FAULTY_LOCK = 256,
    FAULTY_MEMORY = 512,
};

// The effect of a fault on the call.
enum {
    // It fails with an error number.
    FAULTY_FAILS = 0,
    // It reads or writes a part, as a call may; the rest is the next call's.
    FAULTY_SHORT = 1,
    // It writes a part, and the next call fails with the error number.
    FAULTY_SHORT_THEN_FAILS = 2,
};

// The events of an observer: changes that succeeded, and two moments of a checkpoint.
enum {
    FAULTY_CREATED,
    FAULTY_WRITTEN,
    FAULTY_TRUNCATED,
    FAULTY_SYNC_BEGAN,
    FAULTY_SYNC_ENDED,
    FAULTY_DELETED,
    // A connection is about to take the lock of checkpoints.
    FAULTY_CHECKPOINT_LOCKS,
    // A checkpoint has read the header of the log's index, which it had not seen in this state.
    FAULTY_CHECKPOINT_READ_HEADER,
};

typedef void (*faulty_observer)(int event, const char *path, long long offset, const void *data, long long count);

// Replaces the files and the memory of SQLite; the first use of SQLite in the process. Returns whether it could.
int faulty_files_install(void);

// Lets the call of these kinds that is `at` from now on go wrong, and all later ones if `persistent`; 0 only counts.
void faulty_files_arm(unsigned kinds, long at, int persistent, int error, int manner);

// Ends the fault. Returns how many calls of its kinds there were.
long faulty_files_disarm(void);

// Sets the observer; NULL for none.
void faulty_files_observe(faulty_observer observer);

// Bytes of memory that SQLite holds.
long long faulty_files_memory(void);

#endif
