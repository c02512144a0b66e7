import CloudKitModel

/// A record as an answer carried it, and what its encrypted fields hold.
struct OpenedRecord: Hashable, Sendable {
    /// Its encrypted fields are sealed, as they came.
    var record: Record
    /// The encrypted fields of the record with their plain values, in the order of their names; or why one of them does not
    /// open: then the record as a whole is that error, never one with gaps (B-TM-12).
    var values: Result<[Field], CallFailure>

    init(_ record: Record, values: Result<[Field], CallFailure> = .success([])) {
        self.record = record
        self.values = values
    }
}

/// One page of a zone's feed with its records opened.
struct OpenedChanges: Sendable {
    enum Event: Hashable, Sendable {
        case changed(OpenedRecord)
        case deleted(RecordTombstone)
    }

    var events: [Event]
    var syncToken: String
    var moreComing: Bool
    var clientChangeToken: [UInt8]?

    init(_ page: ZoneChangesPage, records: [OpenedRecord]) {
        var records = records[...]
        events = page.events.compactMap { event in
            switch event {
            case .changed: records.popFirst().map { .changed($0) }
            case .deleted(let tombstone): .deleted(tombstone)
            }
        }
        syncToken = page.syncToken
        moreComing = page.moreComing
        clientChangeToken = page.clientChangeToken
    }
}

extension Record {
    /// Whether there is something in it that only keys open.
    var isSealed: Bool { fields.contains { $0.type.isEncrypted } }
}
