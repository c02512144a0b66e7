#ifndef DETERMINISTIC_PROCESS_H
#define DETERMINISTIC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/// Replaces, in this process, the threads that run Swift's tasks and Dispatch's blocks by one queue, the clocks by one that only
/// `deterministic_step` advances, and the system's randomness by a generator. Call it before any task is made.
///
/// Returns whether all of it could be replaced.
bool deterministic_install(void);

/// Begins a history: the randomness that the process gets, and the order in which jobs run, follow from the seed. Jobs and timers that
/// are left are forgotten; the clocks go on.
void deterministic_begin(uint64_t seed);

/// Runs one job, chosen by the seed among those that can run; without one, advances the clock to the next timer.
///
/// Returns false if there is neither.
bool deterministic_step(void);

/// The time of the clocks, nanoseconds.
int64_t deterministic_now(void);

/// Advances the clock at once, as the suspension of a machine does: what was due meanwhile is done afterwards.
void deterministic_suspend(int64_t nanoseconds);

/// The number of jobs that were run.
uint64_t deterministic_jobs(void);

/// Starts a copy of this process. Returns 0 in the copy, its identifier in this process, -1 if there is none.
int deterministic_fork(void);

/// Fills the disk of the files whose path has a folder with this beginning, or makes room on it: while it is full, no file is made there, and
/// none gets longer or other contents.
void deterministic_fill_disk(const char *folder, bool is_full);

/// From now on what is done with the files whose path has a folder with this beginning can be lost with the power, until a file of them is
/// synced: a disk does what it was told in order, and waits for the next sync.
void deterministic_watch_disk(const char *folder);

/// The number of changes of a watched disk that would be lost with the power now.
int deterministic_unsynced(const char *folder);

/// Takes back all changes of a watched disk since the last sync but the first `kept`.
void deterministic_lose_power(const char *folder, int kept);

/// Syncs a watched disk.
void deterministic_sync_disk(const char *folder);

/// Makes programs that this process becomes load at the same addresses each time.
bool deterministic_fix_addresses(void);

/// The number of threads of this process.
int deterministic_threads(void);

#endif
