/// The layout of a store's file.
///
/// Entries are kept in key order in one tree. Values beyond `inlineBytesMax` are stored apart, in order of arrival, and the
/// entry holds their number instead of bytes: a new record then touches small pages of keys and appends its content.
/// Records of 1 KB with six index entries are added at 1.6 times the rate, per CPU time, of values in key order, in a
/// file 1.2 times smaller; changing them costs a tenth more, as the content must be looked up.
///
/// Each entry has its `ValueChecksum` beside it. That of a content stored apart covers the entry's key as well, so that the number
/// in the entry needs none, and the entry's covers its key alone. A partition has the checksum of its name and number. The identity is the epoch, eight bytes, and the salt of the checksums, eight bytes, which
/// stays the same in copies of the store.
enum Format {
    /// "Welk", in the place that SQLite keeps for telling whose file it is.
    static let applicationID: Int64 = 0x5765_6C6B
    static let version: Int64 = 3
    static let pageBytes = 8192
    static let inlineBytesMax = 200

    static let tables = """
        CREATE TABLE store(identity BLOB NOT NULL) STRICT;
        CREATE TABLE partitions(
            name BLOB NOT NULL PRIMARY KEY, id INTEGER NOT NULL UNIQUE, sum INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE entries(
            partition INTEGER NOT NULL, key BLOB NOT NULL, value NOT NULL, sum INTEGER NOT NULL,
            PRIMARY KEY(partition, key)
        ) WITHOUT ROWID;
        CREATE TABLE contents(id INTEGER PRIMARY KEY, value BLOB NOT NULL, sum INTEGER NOT NULL) STRICT;
        """
}
