import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// Starts new key epochs in the zones of a database (B-TM-12).
struct RenewZoneKeys: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Starts the zones of a database with new keys, where nothing is sealed and their owner has lost the old ones
    /// (B-TM-12).
    ///
    /// Records, shares, participants and permissions stay. Each zone that holds something begins a key epoch; its
    /// shares are without keys until their owner's next device gives them new ones; and the records' protections, which
    /// open nothing any more, are removed. A run that a crash interrupts can be repeated.
    ///
    /// - Parameter reset: Of the owner's keychain; steps that are no longer due are skipped; nil: an operator's order.
    /// - Returns: The number of zones concerned.
    func run(in place: DatabaseContext, for reset: KeyReset?) async throws -> Int {
        let zones = try await cloud.store.read(place.partition) { try await $0.zones(limit: .max) }
            .filter { $0.state == .live && $0.recordCount > 0 }
        for zone in zones {
            if zone.sharing == .none {
                try await beginKeyEpoch(inZone: zone, of: place, for: reset)
            } else {
                try await forgetKeysOfShares(inZone: zone, of: place, for: reset)
            }
            try await clearProtections(before: zone.keyEpoch &+ 1, inZone: zone, of: place, for: reset)
        }
        return zones.count
    }

    private func beginKeyEpoch(
        inZone zone: ZoneHeader, of place: DatabaseContext, for reset: KeyReset?
    ) async throws {
        try await cloud.store.write([place.partition, cloud.accountStore.partition]) { transaction in
            guard try await cloud.isDue(reset, transaction), var held = try await transaction.zone(named: zone.name),
                held.number == zone.number
            else { return }
            held.beginKeyEpoch()
            transaction.set(held)
        }
    }

    /// Removes the keys of shares along with the key epoch of the zone, so that nothing is sealed under the old ones.
    private func forgetKeysOfShares(
        inZone zone: ZoneHeader, of place: DatabaseContext, for reset: KeyReset?
    ) async throws {
        try await ChangeShares(cloud).run(inZone: zone.name, of: place, with: [cloud.accountStore.partition]) {
            view, access in
            guard try await cloud.isDue(reset, view) else { return ([], { _, _ in }) }
            let shares = try await view.shares(zone: access.zone.number)
            return (
                shares,
                { writer, transaction in
                    writer.zone.beginKeyEpoch()
                    for share in shares {
                        var after = share
                        after.forgetKeys()
                        transaction.clearKeys(of: share, zone: access.zone.number)
                        try await writer.change(after, before: share, &transaction)
                    }
                }
            )
        }
    }

    /// Takes the protections of earlier epochs from the records of a zone, a part at a time. No feed reports it: their content is
    /// unchanged.
    private func clearProtections(
        before epoch: UInt32, inZone zone: ZoneHeader, of place: DatabaseContext, for reset: KeyReset?
    ) async throws {
        var last: String?
        repeat {
            last = try await cloud.store.write([place.partition, cloud.accountStore.partition]) {
                [last] transaction -> String? in
                guard try await cloud.isDue(reset, transaction),
                    var header = try await transaction.zone(named: zone.name),
                    header.number == zone.number, header.state == .live
                else { return nil }
                let records = try await transaction.records(
                    zone: zone.number, after: last, limit: Self.recordsRenewedAtOnce)
                var freed: UInt64 = 0
                for var record in records {
                    if record.isTombstone { continue }
                    guard let protection = record.protection, protection.epoch < epoch else { continue }
                    // Sealed by a device since the reset.
                    let fields = try record.fields()
                    if fields.contains(where: { $0.type.isEncrypted || $0.type.base == .asset }) { continue }
                    record.protection = nil
                    let before = record.storedBytes
                    freed += UInt64(max(0, before - transaction.set(record, zone: zone.number)))
                }
                if freed > 0 {
                    var database = try await transaction.databaseHeader()
                    database.recordBytes -= min(database.recordBytes, freed)
                    header.recordBytes -= min(header.recordBytes, freed)
                    transaction.set(database)
                    transaction.set(header)
                }
                return records.count < Self.recordsRenewedAtOnce ? nil : records.last?.name
            }
        } while last != nil
    }

    private static var recordsRenewedAtOnce: Int { 200 }
}
