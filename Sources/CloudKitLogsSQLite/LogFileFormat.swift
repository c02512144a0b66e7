import CSQLite
import CloudKitLogs

/// The tables of a log's file.
///
/// The newest entries are in `batches`, one row for each transaction, in the form of `LogEntry.write`. Each 4,096 of them become a
/// *block*: a row of `columns` for each column, so that a filter reads the columns that it has conditions on and no others. Texts are
/// numbers of `texts`. `dictionaries` has the distinct texts of a column in a block, in order, and `columns` the position of each entry's
/// text among them; a block whose dictionary lacks the wanted text is skipped unread.
enum LogFileFormat {
    static let applicationID: Int64 = 0x5745_4C4C
    static let version: Int64 = 1
    /// Entries of a block.
    static let blockRows = 4096
    /// Row numbers of `columns` and `dictionaries` are the column's number shifted by so many bits, plus the block's.
    static let blockBits: Int64 = 40

    static let tables = """
        CREATE TABLE batches(
            first INTEGER PRIMARY KEY, count INTEGER NOT NULL, timeMax INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TABLE blocks(
            block INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, timeMin INTEGER NOT NULL, timeMax INTEGER NOT NULL);
        CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL, role INTEGER NOT NULL, lastBlock INTEGER NOT NULL);
        CREATE UNIQUE INDEX textsByText ON texts(text, role);
        CREATE INDEX textsByLastBlock ON texts(lastBlock);
        CREATE TABLE dictionaries(id INTEGER PRIMARY KEY, ids BLOB NOT NULL);
        CREATE TABLE columns(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
        CREATE TABLE details(number INTEGER PRIMARY KEY, data BLOB NOT NULL);
        CREATE TABLE items(name TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY(name, number)) WITHOUT ROWID;
        CREATE INDEX itemsByNumber ON items(number);
        CREATE TABLE telemetry(
            resolution INTEGER NOT NULL, start INTEGER NOT NULL, key BLOB NOT NULL, counts BLOB NOT NULL,
            PRIMARY KEY(resolution, start, key)) WITHOUT ROWID;
        CREATE TABLE measurements(
            resolution INTEGER NOT NULL, name TEXT NOT NULL, start INTEGER NOT NULL, value INTEGER NOT NULL,
            PRIMARY KEY(resolution, name, start)) WITHOUT ROWID;
        """
}

/// The columns of a block; the numbers are part of the file's format.
enum Column: Int64, CaseIterable {
    case kind = 1
    case operation, container, environment, database, user, device, zone, recordType, client, groupName, code, reason
    case status
    /// Milliseconds since the block's first time, four bytes each.
    case time
    /// The rest of the identifier, ten bytes each.
    case idRest
    case operationID, operationIDRest, group, groupRest
    case microseconds, bytesIn, bytesOut, itemsIn, itemsOut, itemsFailed, retryAfter
    /// The pseudonyms of named records. In place of a dictionary: the low four bytes of each, in order; as the column: for each of them
    /// the position of its entry, two bytes, and its high four bytes. Missing in blocks without any.
    case records

    /// Columns of texts, with a dictionary.
    static let texts: [Column] = [
        .operation, .container, .environment, .database, .user, .device, .zone, .recordType, .client, .groupName, .code,
        .reason,
    ]
    /// Columns of numbers with few values, with a dictionary.
    static let choices: [Column] = [.kind, .status]
    static let numbers: [Column] = [
        .microseconds, .bytesIn, .bytesOut, .itemsIn, .itemsOut, .itemsFailed, .retryAfter,
    ]

    /// The columns that a search for a part of a text looks at.
    static let searched: [Column] = [.operation, .container, .zone, .recordType, .code, .groupName, .reason]

    func row(of block: Int64) -> Int64 { rawValue << LogFileFormat.blockBits | block }

    /// The text of an entry in this column.
    func text(of entry: LogEntry) -> String? {
        switch self {
        case .operation: entry.operation
        case .container: entry.container
        case .environment: entry.environment
        case .database: entry.database
        case .user: entry.user
        case .device: entry.device
        case .zone: entry.zone
        case .recordType: entry.recordType
        case .client: entry.client
        case .groupName: entry.groupName
        case .code: entry.code
        case .reason: entry.reason
        default: nil
        }
    }

    /// The number of an entry in this column.
    func number(of entry: LogEntry) -> Int {
        switch self {
        case .kind: Int(entry.kind.rawValue)
        case .status: entry.status
        case .microseconds: entry.microseconds
        case .bytesIn: entry.bytesIn
        case .bytesOut: entry.bytesOut
        case .itemsIn: entry.itemsIn
        case .itemsOut: entry.itemsOut
        case .itemsFailed: entry.itemsFailed
        case .retryAfter: entry.retryAfter
        default: 0
        }
    }

    /// Whether the texts are those of users and devices, which a search for a part of a text leaves out.
    var role: Int64 { self == .user || self == .device ? 1 : 0 }
}
