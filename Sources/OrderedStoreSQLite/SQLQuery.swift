/// The statements that a connection keeps prepared.
enum SQLQuery: Int, CaseIterable {
    case begin, beginWriting, commit, rollback, dataVersion
    case partitionID, addPartition, anyEntry
    case value, content, scan, scanBack
    case setInline, setAny, addContent, setContent
    case clearInline, clear, clearContent, clearRange, clearRangeContents

    var sql: String {
        switch self {
        case .begin: "BEGIN"
        case .beginWriting: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .dataVersion: "PRAGMA data_version"
        case .partitionID: "SELECT id FROM partitions WHERE name = ?1"
        case .addPartition: "INSERT INTO partitions(name) VALUES(?1)"
        case .anyEntry: "SELECT 1 FROM entries LIMIT 1"
        case .value: "SELECT value, sum FROM entries WHERE partition = ?1 AND key = ?2"
        case .content: "SELECT value, sum FROM contents WHERE id = ?1"
        case .scan:
            "SELECT key, value, sum FROM entries WHERE partition = ?1 AND key >= ?2 AND key < ?3 ORDER BY key"
        case .scanBack:
            """
            SELECT key, value, sum FROM entries
            WHERE partition = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC
            """
        case .setInline:
            // An entry whose content is stored apart is left alone: the content must be deleted first.
            """
            INSERT INTO entries(partition, key, value, sum) VALUES(?1, ?2, ?3, ?4)
            ON CONFLICT(partition, key) DO UPDATE SET value = excluded.value, sum = excluded.sum
            WHERE typeof(entries.value) = 'blob'
            """
        case .setAny:
            """
            INSERT INTO entries(partition, key, value, sum) VALUES(?1, ?2, ?3, ?4)
            ON CONFLICT(partition, key) DO UPDATE SET value = excluded.value, sum = excluded.sum
            """
        case .addContent: "INSERT INTO contents(value, sum) VALUES(?1, ?2)"
        case .setContent: "UPDATE contents SET value = ?2, sum = ?3 WHERE id = ?1"
        case .clearInline: "DELETE FROM entries WHERE partition = ?1 AND key = ?2 AND typeof(value) = 'blob'"
        case .clear: "DELETE FROM entries WHERE partition = ?1 AND key = ?2"
        case .clearContent: "DELETE FROM contents WHERE id = ?1"
        case .clearRange: "DELETE FROM entries WHERE partition = ?1 AND key >= ?2 AND key < ?3"
        case .clearRangeContents:
            """
            DELETE FROM contents WHERE id IN (
                SELECT value FROM entries
                WHERE partition = ?1 AND key >= ?2 AND key < ?3 AND typeof(value) = 'integer')
            """
        }
    }
}
