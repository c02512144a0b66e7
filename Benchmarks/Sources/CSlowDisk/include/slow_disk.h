/// Delays every `fdatasync` by the microseconds of `SLOW_DISK_MICROSECONDS` when the library is preloaded into a program. Many
/// disks take milliseconds to sync; this allows measuring the gain of group commits on any machine.
int fdatasync(int descriptor);
