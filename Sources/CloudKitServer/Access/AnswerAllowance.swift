import CloudKitModel

/// The bytes of records that one answer may hold, about as many as they take printed.
///
/// An answer always holds one record, so that a caller who asks again for the rest gets further. Items that were not read because the
/// answer is full fail with `answerFull`.
struct AnswerAllowance {
    private(set) var bytesTaken = 0
    private var bytesRead = 0
    let bytesMax: Int

    /// Records that are read at once, so that no more than a few of the largest are held beyond the allowance.
    static let batchMax = 16

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether nothing more is to be read: the answer is full, or so much was read for a few fields of it that others should have
    /// their turn.
    var isSpent: Bool { bytesTaken >= bytesMax || bytesRead >= 16 * bytesMax }

    /// Notes that a stored value was read.
    mutating func read(bytes: Int) { bytesRead += bytes }

    /// Takes the bytes of a record; false if it does not fit.
    mutating func take(_ record: Record) -> Bool { take(bytes: Self.bytes(of: record)) }

    /// Takes bytes; false if they do not fit.
    mutating func take(bytes: Int) -> Bool {
        guard bytesTaken == 0 || bytesTaken + bytes <= bytesMax else {
            bytesTaken = max(bytesTaken, bytesMax)
            return false
        }
        bytesTaken += bytes
        return true
    }

    /// Returns about how many bytes a record takes in an answer. Files are printed with their addresses, shares with the identities and
    /// keys of their participants.
    static func bytes(of record: Record) -> Int {
        var bytes = 512 + (record.isShare ? shareBytes : 0)
        func add(_ type: FieldType, name: Int, json: Int) { bytes += name + json * (type.base == .asset ? 6 : 1) }
        record.withProperties { record in
            bytes += record.protection?.keys.count ?? 0
            switch record.fields {
            case .values(let fields):
                for field in fields { add(field.type, name: field.name.utf8.count, json: field.json.count) }
            case .packed(let fields):
                fields.visit { field in
                    add(field.type, name: field.name.count, json: field.json.count)
                    return true
                }
            }
        }
        return bytes
    }

    private static let shareBytes = 65_536
}

extension RequestFailure {
    /// The failure of an item that did not fit into the answer: to be fetched again at once, in a request of its own with the others
    /// that did not.
    static let answerFull = RequestFailure(
        .tryAgainLater, "the answer is full", remedy: "Fetch this item and the others of this kind in another request.",
        retryAfter: 0)
}
