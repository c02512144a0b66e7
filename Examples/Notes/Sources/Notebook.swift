import CloudKit

/// A note with its text.
public struct Note: Hashable, Sendable {
    /// The record name of the note.
    public var id: String
    /// The text of the note.
    public var text: String

    /// Creates a note.
    public init(id: String = UUID().uuidString, text: String) {
        self.id = id
        self.text = text
    }
}

/// The notes of a user on one device, synchronised with the cloud.
public actor Notebook {
    /// A failure that needs the user's decision.
    public enum Failure: Error, Hashable {
        /// The user removed the app's data in the settings; it must not be restored automatically.
        case removedByUser
        /// The storage quota is exhausted.
        case storageFull
        /// No account is signed in, or this device was signed out remotely.
        case signedOut
    }

    /// The notes by their IDs.
    public private(set) var notes: [String: Note] = [:]
    /// The latest fetched version of each record, with the change tag for the next save.
    private var records: [String: CKRecord] = [:]
    private var token: CKServerChangeToken?
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// Creates a notebook in a container's private database.
    public init(container: CKContainer = .default()) {
        database = container.privateCloudDatabase
    }

    /// Creates the zone if it is missing.
    public func open() async throws {
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
    }

    /// Saves a note; after a conflict, both texts are kept. The call may be repeated with the same note after an error.
    public func write(_ note: Note) async throws {
        do {
            try await save(note)
        } catch let error as CKError where error.code == .quotaExceeded {
            throw Failure.storageFull
        } catch let error as CKError
            where error.code == .notAuthenticated || error.code == .accountTemporarilyUnavailable
        {
            throw Failure.signedOut
        }
    }

    private func save(_ note: Note) async throws {
        let record =
            records[note.id]
            ?? CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: note.id, zoneID: zoneID))
        record["text"] = note.text
        do {
            keep(try await database.save(record))
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord else { throw error }
            let theirs = server["text"] as? String ?? ""
            if theirs != note.text { server["text"] = theirs + "\n" + note.text }
            keep(try await database.save(server))
        }
    }

    /// Removes a note.
    public func remove(_ id: String) async throws {
        _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: id, zoneID: zoneID))
        forget(id)
    }

    /// Fetches the changes of other devices.
    public func sync() async throws {
        do {
            try await fetchChanges()
        } catch let error as CKError where error.code == .changeTokenExpired {
            token = nil
            try await fetchChanges()
        } catch let error as CKError where error.code == .userDeletedZone {
            token = nil
            notes = [:]
            records = [:]
            throw Failure.removedByUser
        } catch let error as CKError where error.code == .zoneNotFound && error.isLossOfKeys {
            // The cloud's data is permanently unreadable; only this device's copy is left.
            try await uploadAgain()
        }
    }

    /// Creates the zone again and saves the notes of this device.
    private func uploadAgain() async throws {
        let known = notes.values
        token = nil
        records = [:]
        _ = try await database.deleteRecordZone(withID: zoneID)
        try await open()
        for note in known { try await save(note) }
    }

    private func fetchChanges() async throws {
        // Not urgent: if the cloud is busy, the framework retries automatically.
        let background = CKOperation.Configuration()
        background.qualityOfService = .utility
        // Without a token the cloud returns the existing records, but no deletions.
        let isFromTheBeginning = token == nil
        var seen: Set<String> = []
        var moreComing = true
        while moreComing {
            let changes = try await database.configuredWith(configuration: background) {
                try await $0.recordZoneChanges(inZoneWith: zoneID, since: token)
            }
            for (id, result) in changes.modificationResultsByID {
                keep(try result.get().record)
                seen.insert(id.recordName)
            }
            for deletion in changes.deletions { forget(deletion.recordID.recordName) }
            token = changes.changeToken
            moreComing = changes.moreComing
        }
        if isFromTheBeginning {
            for id in notes.keys where !seen.contains(id) { forget(id) }
        }
    }

    private func keep(_ record: CKRecord) {
        let id = record.recordID.recordName
        records[id] = record
        notes[id] = Note(id: id, text: record["text"] as? String ?? "")
    }

    private func forget(_ id: String) {
        records[id] = nil
        notes[id] = nil
    }
}

extension CKError {
    /// Whether the user has reset their encryption keys, so that the zone's data is lost.
    fileprivate var isLossOfKeys: Bool { userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true }
}
