/// Loaded before a program's own libraries, this makes every `fdatasync` take longer by the microseconds named in
/// `SLOW_DISK_MICROSECONDS`: many disks take milliseconds to keep what they are given, and what is gained by sharing that is
/// to be measured on any machine.
int fdatasync(int descriptor);
