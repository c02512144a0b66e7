import CloudKitModel
import CloudKitRecordLayer

/// The files that a sweep removed.
package struct AssetSweep: Hashable, Sendable {
    /// The number of files.
    package var files = 0
    /// Their bytes.
    package var bytes: Int64 = 0

    /// Creates a count of no files.
    package init() {}

    fileprivate mutating func count(_ entry: StoredFile) {
        files += 1
        bytes += entry.length
    }

    /// Adds the results of two sweeps.
    package static func + (left: AssetSweep, right: AssetSweep) -> AssetSweep {
        var sum = left
        sum.files += right.files
        sum.bytes += right.bytes
        return sum
    }
}

/// Deletes files that no record refers to (B-AST-02).
package struct SweepAssets: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Removes the files of one of 256 folders that nothing needs (B-AST-02). To be called again and again, folder by
    /// folder, from any number of processes.
    ///
    /// A file is needed while a record of a living zone refers to it, while a receipt for it can be saved, and for a time of
    /// grace after that. Its database forgets it first, in a transaction that looks once more; the file goes after that. A
    /// crash between the two leaves a file that no database knows, and such files go once they are older than any upload
    /// can be.
    package func run(inFolder folder: UInt8) async throws -> AssetSweep {
        let now = cloud.serverEnvironment.now()
        let entries = try await cloud.files.files(inFolder: folder)
        let partitions = try await cloud.assetPartitions.partitions(tagged: Set(entries.map(\.id.partitionTag)))
        var unknown = Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var sweep = AssetSweep()
        for (tag, partitions) in partitions {
            for partition in partitions {
                let ids = unknown.keys.filter { $0.partitionTag == tag }
                for ids in Array(ids).chunks(of: Self.filesAtOnce) {
                    let (known, forgotten) = try await forgetAssets(Array(ids), in: partition, now: now)
                    for id in forgotten {
                        guard let entry = unknown[id] else { continue }
                        try await cloud.files.delete(id)
                        sweep.count(entry)
                    }
                    for id in known { unknown[id] = nil }
                }
            }
        }
        for entry in unknown.values where entry.modified + cloud.limits.assetLifetimes.orphan < now {
            try await cloud.files.delete(entry.id)
            sweep.count(entry)
        }
        return sweep
    }

    /// Removes abandoned uploads.
    package func runDrafts() async throws -> AssetSweep {
        let now = cloud.serverEnvironment.now()
        var sweep = AssetSweep()
        for entry in try await cloud.files.drafts() where entry.modified + cloud.limits.assetLifetimes.upload < now {
            try await cloud.files.delete(entry.id)
            sweep.count(entry)
        }
        return sweep
    }

    private static var filesAtOnce: Int { 200 }

    /// Lets a database forget those of its files that nothing needs.
    ///
    /// - Returns: The files that the database knew, and those of them that it has forgotten.
    private func forgetAssets(
        _ ids: [AssetFileID], in partition: StoragePartition, now: Int64
    ) async throws -> (known: [AssetFileID], forgotten: [AssetFileID]) {
        let (known, idle) = try await cloud.store.read(partition) { view in
            let assets = try await view.assets(ids).compactMap { $0 }
            let due = assets.filter { $0.keptUntil < now }
            let needs = try await AssetReferenceIndex(view)
            var idle: [AssetFileID] = []
            for asset in due where try await !needs.isNeeded(asset.id, view) { idle.append(asset.id) }
            return (assets.map(\.id), idle)
        }
        if idle.isEmpty { return (known, []) }
        let grace = cloud.limits.assetLifetimes.grace
        let forgotten = try await cloud.store.write(partition) { transaction in
            let needs = try await AssetReferenceIndex(transaction)
            var forgotten: [AssetFileID] = []
            for case var asset? in try await transaction.assets(idle) where asset.keptUntil < now {
                guard try await !needs.isNeeded(asset.id, transaction) else { continue }
                // Those that are left are of zones that went: their files have had no time of grace yet.
                let left = try await transaction.references(
                    toAsset: asset.id, limit: AssetReferenceIndex.referencesAtOnce)
                if left.isEmpty {
                    transaction.clear(asset)
                    forgotten.append(asset.id)
                } else {
                    for reference in left { transaction.clear(reference) }
                    asset.keptUntil = now + grace
                    transaction.set(asset)
                }
            }
            return forgotten
        }
        return (known, forgotten)
    }
}

/// Decides whether a record of a live zone refers to an asset.
private struct AssetReferenceIndex: Sendable {
    /// Numbers of the zones that live.
    private let zones: Set<UInt32>

    static let referencesAtOnce = 500

    init(_ view: some StorageView) async throws {
        let live = try await view.zones(limit: .max).filter { $0.state == .live }
        zones = Set(live.map(\.number)).union([ZoneHeader.implicitDefault.number])
    }

    func isNeeded(_ id: AssetFileID, _ view: some StorageView) async throws -> Bool {
        var limit = 1
        while true {
            let references = try await view.references(toAsset: id, limit: limit)
            if references.contains(where: { zones.contains($0.zone) }) { return true }
            if references.count < limit { return false }
            limit = limit == 1 ? Self.referencesAtOnce : limit * 2
        }
    }
}

extension Array {
    /// Returns the elements in pieces of at most `count`.
    fileprivate func chunks(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
