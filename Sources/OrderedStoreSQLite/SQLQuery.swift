/// The statements that a connection keeps prepared.
enum SQLQuery: Int, CaseIterable {
    case begin, beginWriting, commit, rollback, dataVersion
    case partitionID, partitionFrom, partitionBefore, addPartition, nextPartitionID, anyEntry
    case value, values, content, scan, scanBack, keyFrom, keyBefore
    case setInline, setAny, addFour, addSixteen, addContent, setContent
    case clearInline, clear, clearContent, clearRange, clearRangeContents

    var sql: String {
        switch self {
        case .begin: "BEGIN"
        case .beginWriting: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .dataVersion: "PRAGMA data_version"
        case .partitionID: "SELECT name, id, sum FROM partitions WHERE name = ?1"
        case .partitionFrom: "SELECT name, id, sum FROM partitions WHERE name >= ?1 ORDER BY name LIMIT 1"
        case .partitionBefore: "SELECT name, id, sum FROM partitions WHERE name < ?1 ORDER BY name DESC LIMIT 1"
        case .nextPartitionID: "SELECT coalesce(max(id), 0) + 1 FROM partitions"
        case .addPartition: "INSERT INTO partitions(name, id, sum) VALUES(?1, ?2, ?3)"
        case .anyEntry: "SELECT 1 FROM entries LIMIT 1"
        case .value: "SELECT value, sum FROM entries WHERE partition = ?1 AND key = ?2"
        case .values: Self.finding(KeyGroup.count)
        case .content: "SELECT value, sum FROM contents WHERE id = ?1"
        case .scan:
            "SELECT key, value, sum FROM entries WHERE partition = ?1 AND key >= ?2 AND key < ?3 ORDER BY key"
        case .scanBack:
            """
            SELECT key, value, sum FROM entries
            WHERE partition = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC
            """
        case .keyFrom:
            """
            SELECT partition, key, sum FROM entries
            WHERE (partition, key) >= (?1, ?2) ORDER BY partition, key LIMIT 1
            """
        case .keyBefore:
            """
            SELECT partition, key, sum FROM entries
            WHERE (partition, key) < (?1, ?2) ORDER BY partition DESC, key DESC LIMIT 1
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
        case .addFour: Self.adding(4)
        case .addSixteen: Self.adding(16)
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

    /// Finds values by several keys, each with its place among them; a content apart is in the last two columns.
    private static func finding(_ keyCount: Int) -> String {
        let keys = (0..<keyCount).map { "(\($0), ?\($0 + 2))" }
        return """
            WITH wanted(place, key) AS (VALUES\(keys.joined(separator: ", ")))
            SELECT wanted.place, entries.value, entries.sum, contents.value, contents.sum
            FROM wanted CROSS JOIN entries ON entries.partition = ?1 AND entries.key = wanted.key
            LEFT JOIN contents ON contents.id = entries.value
            """
    }

    /// Adds entries and leaves those alone that are there. "OR IGNORE" needs no copies of pages by which a statement of several rows
    /// could be taken back alone.
    private static func adding(_ rowCount: Int) -> String {
        let rows = (0..<rowCount).map { "(?1, ?\(3 * $0 + 2), ?\(3 * $0 + 3), ?\(3 * $0 + 4))" }
        return "INSERT OR IGNORE INTO entries(partition, key, value, sum) VALUES" + rows.joined(separator: ", ")
    }
}
