import CloudKitModel
import OrderedStore

extension RowCheck {
    /// Returns the newest changes of the zones that were checked, with their records, as rows to check.
    ///
    /// - Parameters:
    ///   - zonesMax: The number of zones, those with the newest changes.
    ///   - changesMax: The number of changes of each zone.
    package func newestRows(
        zonesMax: Int, changesMax: Int, _ view: ReadTransaction
    ) async throws -> [WalkedRow] {
        var live = zones.values.filter { $0.state == .live }
        live.sort { ($0.latestVersion, $0.number) > ($1.latestVersion, $1.number) }
        var rows: [WalkedRow] = []
        for zone in live.prefix(zonesMax) {
            rows += try await newestRows(of: zone.number, changesMax: changesMax, view)
        }
        return rows
    }

    private func newestRows(
        of zone: UInt32, changesMax: Int, _ view: ReadTransaction
    ) async throws -> [WalkedRow] {
        let feed = KeyBuilder(.feed, zone: zone)
        var rows: [WalkedRow] = []
        do {
            for entry in try await view.scan(KeyRange(prefix: feed.bytes), limit: changesMax, reverse: true) {
                rows.append(WalkedRow(key: entry.key, value: entry.value))
                guard let change = try? FeedEntry(entry) else { continue }
                let key = StoredRecord.key(zone: zone, name: change.recordName)
                do {
                    if let value = try await view.get(key) { rows.append(WalkedRow(key: key, value: value)) }
                } catch let error as StoreError where error.code == .damagedValue {
                    rows.append(WalkedRow(key: key, value: nil))
                }
            }
        } catch let error as StoreError where error.code == .damagedValue {
            rows.append(WalkedRow(key: feed.bytes, value: nil))
        }
        return rows
    }
}
