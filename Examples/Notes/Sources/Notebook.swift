import CloudKit

/// A page of text.
public struct Note: Hashable, Sendable {
    public var id: String
    public var text: String

    public init(id: String = UUID().uuidString, text: String) {
        self.id = id
        self.text = text
    }
}

/// The notes of one person on one device, kept in step with the cloud.
public actor Notebook {
    /// What the app has to ask people about.
    public enum Trouble: Error, Hashable {
        /// They removed the app's data in the settings: it must not come back by itself.
        case removedByUser
        /// There is no room for more notes.
        case storageFull
        /// Nobody is signed in, or this device was signed out from elsewhere.
        case signedOut
    }

    public private(set) var notes: [String: Note] = [:]
    /// Records as the cloud last gave them: what a save is measured against.
    private var records: [String: CKRecord] = [:]
    private var token: CKServerChangeToken?
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    public init(container: CKContainer = .default()) {
        database = container.privateCloudDatabase
    }

    /// Makes the zone if it is missing.
    public func open() async throws {
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
    }

    /// Saves a note; if another device was quicker, both texts are kept. After an error it may be called again with the same note.
    public func write(_ note: Note) async throws {
        do {
            try await save(note)
        } catch let error as CKError where error.code == .quotaExceeded {
            throw Trouble.storageFull
        } catch let error as CKError
            where error.code == .notAuthenticated || error.code == .accountTemporarilyUnavailable
        {
            throw Trouble.signedOut
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

    public func remove(_ id: String) async throws {
        _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: id, zoneID: zoneID))
        forget(id)
    }

    /// Takes over what other devices did.
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
            throw Trouble.removedByUser
        } catch let error as CKError where error.code == .zoneNotFound && error.isLossOfKeys {
            // What the cloud has can never be read again; what this device has is all there is.
            try await uploadAgain()
        }
    }

    /// Makes the zone anew and saves what this device knows.
    private func uploadAgain() async throws {
        let known = notes.values
        token = nil
        records = [:]
        _ = try await database.deleteRecordZone(withID: zoneID)
        try await open()
        for note in known { try await save(note) }
    }

    private func fetchChanges() async throws {
        // Nobody waits for this: if the cloud is busy, it may be tried again by itself.
        let patient = CKOperation.Configuration()
        patient.qualityOfService = .utility
        // Without a token the cloud tells what there is, not what is gone.
        let isFromTheBeginning = token == nil
        var seen: Set<String> = []
        var moreComing = true
        while moreComing {
            let changes = try await database.configuredWith(configuration: patient) {
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
    /// Whether the person has reset their encryption keys, so that the zone's data are lost.
    fileprivate var isLossOfKeys: Bool { userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true }
}
