import CloudKitEncryption
import CloudKitModel
import TextEncodings

/// A record as an answer carried it, with the values of its encrypted fields and, once they are fetched, the files of its
/// assets.
package struct OpenedRecord: Hashable, Sendable {
    /// Shared by copies of this value, since a record has many parts to count references of.
    private var held: SharedValue<Record>
    /// The encrypted fields of the record with their plain values, in the order of their names; or why one of them does not
    /// open: then the record as a whole is that error, never one with gaps (B-TM-12).
    package var values: Result<[Field], CallFailure>
    /// The keys of the files of the record's assets; files without a key are plain.
    var assetSecrets: [AssetSlot: AssetSecret]
    /// The files of the record's assets, as far as they were fetched.
    package var files: [AssetSlot: StagedFile] = [:]
    /// The version that its statement names; nil: it has none, or none that was checked.
    var version: StatedVersion?
    /// Of a share: where it can be found.
    package var link: ShareLink?

    /// Creates an opened record; without arguments, one that has no encrypted fields.
    package init(
        _ record: Record, values: Result<[Field], CallFailure> = .success([]),
        assetSecrets: [AssetSlot: AssetSecret] = [:]
    ) {
        held = SharedValue(record)
        self.values = values
        self.assetSecrets = assetSecrets
    }
}

extension OpenedRecord {
    /// The record; its encrypted fields are sealed, as they came.
    package var record: Record {
        _read { yield held.value }
        _modify { yield &held.value }
    }
}

/// One page of a zone's feed with its records opened.
package struct OpenedChanges: Sendable {
    /// A change of one record.
    package enum Event: Hashable, Sendable {
        case changed(FetchedItem)
        case deleted(RecordTombstone)
    }

    /// The changes of the page, oldest first.
    package var events: [Event]
    /// The token that covers this page and all before it.
    package var syncToken: String
    /// A Boolean value that indicates whether further changes wait.
    package var moreComing: Bool
    /// The client change token of the zone's last save; nil: none was given (B-BAT-11).
    package var clientChangeToken: [UInt8]?
    /// What the page shows of the keys of another user's zone; nil: nothing, as in the user's own.
    package var keys: Keys?

    /// Creates a page whose changed records are replaced by their opened forms, which are in the same order.
    package init(_ page: ZoneChangesPage, records: [OpenedRecord], in address: DatabaseAddress?) {
        var records = records[...]
        events = page.events.compactMap { event in
            switch event {
            case .changed: records.popFirst().map { .changed(FetchedItem($0, in: address)) }
            case .deleted(let tombstone): .deleted(tombstone)
            }
        }
        syncToken = page.syncToken
        moreComing = page.moreComing
        clientChangeToken = page.clientChangeToken
    }
}

extension OpenedChanges {
    /// What a page shows of the keys of a zone's shares.
    package struct Keys: Sendable {
        /// A number that changes with each new key.
        package var state: Int
        /// Whether the page has a share, whose keys may be new.
        package var hasShares: Bool
        /// Whether records of the page are sealed under keys that this device does not have.
        package var areAwaited: Bool
    }
}

extension Record {
    /// A Boolean value that indicates whether the record holds anything that needs keys to open.
    package var isSealed: Bool {
        fields.contains { $0.type.isEncrypted || ($0.type.base == .asset && (protection != nil || $0.hasKeys)) }
    }
}

extension Field {
    /// A Boolean value that indicates whether the field holds a file that a device of a Welkin cloud sealed. A service that keeps keys
    /// itself has keys of another form.
    var holdsSealedFile: Bool {
        guard type.base == .asset else { return false }
        let keys = (try? assets().compactMap(\.wrappingKey)) ?? []
        return keys.contains { key in Base64.decode(key).map { SealedForm.epoch(of: $0) != nil } ?? false }
    }

    /// A Boolean value that indicates whether the field holds an asset with a key.
    fileprivate var hasKeys: Bool { (try? assets().contains { $0.wrappingKey != nil }) ?? false }
}
