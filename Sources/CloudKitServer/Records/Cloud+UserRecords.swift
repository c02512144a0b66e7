import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// Makes a user's own record in the public and in the private database, unless it is there (B-USR-02).
    ///
    /// To be called when a user first comes to a container; repeating it costs two reads.
    package func makeUserRecord(
        of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        for scope in [DatabaseScope.public, .private] {
            let place = try DatabaseAccess.place(
                DatabaseAddress(container: container, environment: environment, scope: scope),
                for: Caller(user: user), to: .writeRecords)
            if try await hasRecord(user.recordName, in: place) { continue }
            try await registry.enter(place.partition)
            let schema = try await schemas.current(place.schemaPartition)
            let batch = RecordBatch(userRecordIn: place, surroundings, limits)
            try await store.write(place.partition) { transaction in
                try await batch.writeUserRecord(schema, &transaction)
            }
        }
    }

    private func hasRecord(_ name: String, in place: DatabasePlace) async throws -> Bool {
        try await store.read(place.partition) { view in
            try await view.records(zone: DatabaseHeader.defaultZone, names: [name])[0] != nil
        }
    }
}

extension RecordBatch {
    /// The saving of the user record of the caller.
    fileprivate init(userRecordIn place: DatabasePlace, _ surroundings: Surroundings, _ limits: Limits) {
        let change = RecordChange(
            recordName: place.caller.user?.recordName, recordType: RecordTypeDefinition.usersName)
        let item = RecordItem(
            RecordOperation(.create, change), in: place, zoneName: ZoneID.defaultZoneName, desiredKeys: nil,
            surroundings: surroundings, limits: limits)
        self.init(
            items: [item], place: place, zoneName: ZoneID.defaultZoneName, wantsAtomic: false,
            clientChangeToken: nil, limits: limits, now: surroundings.now())
    }

    /// Writes what no client may: the rules of `RecordDrafting` are passed by.
    fileprivate func writeUserRecord(_ schema: Schema, _ transaction: inout StorageWriter) async throws {
        let headers = try await transaction.headers(zoneNamed: zoneName)
        let held = try await transaction.records(zone: DatabaseHeader.defaultZone, names: items.map(\.name))
        guard held[0] == nil else { return }
        let draft = SaveDraft(
            previous: nil, recordType: RecordTypeDefinition.usersName, fields: [], parent: nil, shortGUID: nil,
            set: [], before: [], after: [])
        var writing = RecordWriting(
            batch: self, database: headers.database, zone: headers.zone ?? .implicitDefault, schema: schema)
        _ = try await writing.write([.save(draft)], ReferenceCheck.Verdict(), [:], &transaction)
    }
}
