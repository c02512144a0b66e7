import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Finds and deletes the records of a type in all databases of a container and environment.
struct DeleteStoredRecords: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    private static let recordsAtOnce = 200

    /// Returns whether any database has a record of a type.
    ///
    /// - Parameter fields: Count only records that have one of these; nil: all.
    func find(
        ofType recordType: String, withAnyOf fields: Set<String>?, in container: ContainerID, _ environment: Environment
    ) async throws -> Bool {
        for partition in try await cloud.registry.databases(of: container, environment) {
            let found = try await cloud.store.read(partition) { view in
                for zone in try await Self.zones(view) {
                    var last: String?
                    repeat {
                        let step = try await Self.step(recordType, fields, zone, after: last, view)
                        if !step.records.isEmpty { return true }
                        last = step.last
                    } while last != nil
                }
                return false
            }
            if found { return true }
        }
        return false
    }

    /// Deletes the records of a type, as their owners could: feeds report it.
    ///
    /// - Parameter fields: Delete only records that have one of these; nil: all.
    func run(
        ofType recordType: String, withAnyOf fields: Set<String>?, in container: ContainerID, _ environment: Environment
    ) async throws {
        let schema = try await cloud.schema(container, environment)
        for partition in try await cloud.registry.databases(of: container, environment) {
            let zones = try await cloud.store.read(partition) { try await Self.zones($0) }
            for zone in zones {
                var last: String?
                repeat {
                    last = try await deleteStep(recordType, fields, zone, after: last, schema, in: partition)
                } while last != nil
            }
        }
    }

    /// - Returns: The name to go on after; nil when nothing is left.
    private func deleteStep(
        _ recordType: String, _ fields: Set<String>?, _ zone: ZoneHeader, after last: String?, _ schema: Schema,
        in partition: StoragePartition
    ) async throws -> String? {
        guard let place = DatabaseContext(partition: partition) else { return nil }
        try await cloud.registry.renewWorkPromise(in: partition, now: cloud.serverEnvironment.now())
        return try await cloud.writeNotifying([partition]) { transaction, notifications in
            let headers = try await transaction.headers(zoneNamed: zone.name)
            guard let held = headers.zone, held.number == zone.number, held.state == .live else { return nil }
            let step = try await Self.step(recordType, fields, held, after: last, transaction)
            if step.records.isEmpty { return step.last }
            let batch = ChangeBatch(
                items: [], place: place, zoneName: zone.name, wantsAtomic: false, clientChangeToken: nil,
                limits: cloud.limits, now: cloud.serverEnvironment.now())
            var writer = ChangeWriter(
                batch: batch, database: headers.database, zone: held, schema: schema,
                pendingNotifications: notifications)
            try await writer.deleteOwned(step.records, &transaction)
            return step.last
        }
    }

    private static func zones(_ view: some StorageView) async throws -> [ZoneHeader] {
        let zones = try await view.zones(limit: .max).filter { $0.state == .live }
        return zones.contains(where: \.isDefaultZone) ? zones : [.implicitDefault] + zones
    }

    private static func step(
        _ recordType: String, _ fields: Set<String>?, _ zone: ZoneHeader, after last: String?, _ view: some StorageView
    ) async throws -> (records: [StoredRecord], last: String?) {
        let names = try await view.recordNames(
            ofType: recordType, zone: zone.number, after: last, limit: recordsAtOnce)
        var records: [StoredRecord] = []
        for case let record? in try await view.records(zone: zone.number, names: names)
        where !record.isTombstone && record.recordType == recordType {
            if let fields, try record.fields(fields).isEmpty { continue }
            records.append(record)
        }
        return (records, names.count < recordsAtOnce ? nil : names.last)
    }
}
