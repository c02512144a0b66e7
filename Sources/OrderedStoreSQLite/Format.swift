/// The layout of a store's file.
///
/// Entries are kept in key order in one tree. Values beyond `inlineBytesMax` are stored apart, in order of arrival, and the
/// entry holds their number instead of bytes: a new record then touches small pages of keys and appends its content.
/// Records of 1 KB with six index entries are added at 1.6 times the rate, per CPU time, of values in key order, in a
/// file 1.2 times smaller; changing them costs a tenth more, as the content must be looked up.
///
/// Each value has its `ValueChecksum` beside it; that of a content stored apart covers the entry's key as well, so that the
/// number in the entry needs none. The identity is the epoch, eight bytes, and the salt of the checksums, eight bytes, which
/// stays the same in copies of the store.
enum Format {
    /// "Welk", in the place that SQLite keeps for telling whose file it is.
    static let applicationID: Int64 = 0x5765_6C6B
    static let version: Int64 = 2
    static let pageBytes = 8192
    static let inlineBytesMax = 200

    static let tables = """
        CREATE TABLE store(identity BLOB NOT NULL) STRICT;
        CREATE TABLE partitions(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE) STRICT;
        CREATE TABLE entries(
            partition INTEGER NOT NULL, key BLOB NOT NULL, value NOT NULL, sum INTEGER NOT NULL,
            PRIMARY KEY(partition, key)
        ) WITHOUT ROWID;
        CREATE TABLE contents(id INTEGER PRIMARY KEY, value BLOB NOT NULL, sum INTEGER NOT NULL) STRICT;
        """
}
