import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Creates the records that represent a user in a container (B-USR-02).
package struct CreateUserRecords: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Creates the records that represent a user in a container's public database and in the user's private database
    /// (B-USR-02), where they are missing. Called when a user first uses a container.
    package func run(
        _ user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        for scope in [DatabaseScope.public, .private] {
            let address = DatabaseAddress(container: container, environment: environment, scope: scope)
            let caller = Caller(user: user)
            try await createUserRecord(
                user, in: try DatabaseAccess.place(address, for: caller, to: .writeRecords))
        }
    }

    private func createUserRecord(_ user: UserID, in place: DatabaseContext) async throws {
        let isThere = try await cloud.store.read(place.partition) { try await $0.userRecord(user) != nil }
        if isThere { return }
        try await cloud.registry.enter(place.partition)
        let batch = userBatch(user, in: place)
        for _ in 0..<Self.schemaReadsMax {
            let schema = try await cloud.schemas.current(place.schemaPartition)
            let isDone = try await cloud.store.write(place.partition) { transaction in
                try await batch.makeUser(user, schema: schema, &transaction)
            }
            if isDone { return }
        }
        throw RequestFailure(.zoneBusy, "the schema keeps changing", remedy: "Try again.", retryAfter: 1)
    }

    /// Attempts with concurrent changes of the schema.
    private static var schemaReadsMax: Int { 8 }

    private func userBatch(_ user: UserID, in place: DatabaseContext) -> ChangeBatch {
        let change = RecordChange(recordName: user.recordName, recordType: RecordTypeDefinition.usersName)
        let item = IncomingChange(
            RecordOperation(.create, change), at: 0, in: place, zoneName: ZoneID.defaultZoneName, desiredKeys: nil,
            serverEnvironment: cloud.serverEnvironment, seal: cloud.assetSeal, limits: cloud.limits)
        let now = cloud.serverEnvironment.now()
        return ChangeBatch(
            items: [item], place: place, zoneName: ZoneID.defaultZoneName, wantsAtomic: false, clientChangeToken: nil,
            limits: cloud.limits, now: now, versionBeforeFirst: cloud.storeHistory.versionBeforeFirst(now: now))
    }
}

extension ChangeBatch {
    /// Writes the one record of the batch past the rule that apps cannot make users.
    ///
    /// - Returns: Whether the record is there now; false: this schema is older than the database's indexes.
    fileprivate func makeUser(
        _ user: UserID, schema: Schema, _ transaction: inout StorageWriter
    ) async throws -> Bool {
        var headers = try await transaction.headers(zoneNamed: zoneName)
        headers.database.begin(after: versionBeforeFirst)
        guard headers.database.schemaFloor <= schema.version else { return false }
        if try await transaction.userRecord(user) != nil { return true }
        let draft = PlannedSave(
            previous: nil, recordType: RecordTypeDefinition.usersName, fields: [], parent: nil, shortGUID: nil,
            protection: nil, set: [],
            before: [], after: [])
        var writer = ChangeWriter(
            batch: self, database: headers.database, zone: headers.zone ?? .implicitDefault, schema: schema)
        _ = try await writer.write([.save(draft)], verdict: ReferenceCheck.Verdict(), held: [:], &transaction)
        return true
    }
}

extension StorageView {
    /// Returns the record under a user's name in the default zone.
    fileprivate func userRecord(_ user: UserID) async throws -> StoredRecord? {
        try await records(zone: ZoneHeader.implicitDefault.number, names: [user.recordName])[0]
    }
}
