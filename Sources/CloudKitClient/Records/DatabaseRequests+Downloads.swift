import CloudKitEncryption
import CloudKitModel
import Foundation

extension DatabaseRequests {
    /// Fetches the files of records.
    ///
    /// - Throws: As `withFiles(_:progress:)`.
    package func withFiles(_ records: [OpenedRecord]) async throws -> [FetchedItem] {
        try await withFiles(records.map { FetchedItem($0, in: address) }) { _, _ in }
    }

    /// Fetches the files of a page's changed records.
    ///
    /// - Throws: As `withFiles(_:progress:)`.
    package func withFiles(_ events: [OpenedChanges.Event]) async throws -> [OpenedChanges.Event] {
        guard events.contains(where: \.hasFiles) else { return events }
        let changed = events.compactMap { if case .changed(let item) = $0 { item } else { nil } }
        var items = try await withFiles(changed, progress: { _, _ in })[...]
        return events.compactMap { event in
            switch event {
            case .changed: items.popFirst().map { .changed($0) }
            case .deleted(let tombstone): .deleted(tombstone)
            }
        }
    }

    /// Fetches the files of records, a few at a time; a record whose files cannot be fetched fails alone (B-AST-04).
    ///
    /// - Parameter progress: Receives the index of a record and the fraction of its files that has arrived, below 1.
    /// - Throws: Failures of all records: no connection, cancelled, deadline exceeded.
    package func withFiles(_ items: [FetchedItem], progress: @escaping AssetProgress) async throws -> [FetchedItem] {
        var items = items
        let files = AssetFetches(requests: self)
        var fetches: [AssetFetches.Fetch] = []
        for (index, item) in items.enumerated() {
            guard case .success(let opened) = item.result, opened.record.hasAssets,
                case .success = opened.values
            else { continue }
            do throws(RequestFailure) {
                fetches += try files.fetches(of: opened, at: index)
            } catch {
                items[index].result = .failure(.refused(error))
            }
        }
        guard !fetches.isEmpty else { return items }
        let asked = fetches
        let results = try await connection.cloud.clientEnvironment.within(deadline) {
            try await files.run(asked, progress)
        }
        for (fetch, result) in zip(asked, results) {
            items[fetch.record].result = items[fetch.record].result.flatMap { opened in
                result.map { file in
                    var opened = opened
                    opened.files[fetch.slot] = file
                    return opened
                }
            }
        }
        return items
    }
}

extension OpenedChanges.Event {
    /// The failure of a record because there is no place on this device for a file of it; nil: it did not fail, or for another reason.
    package var failureForWantOfRoom: CallFailure? {
        guard case .changed(let item) = self, case .failure(let failure) = item.result,
            case .assetCacheUnusable = failure
        else { return nil }
        return failure
    }

    /// A Boolean value that indicates whether files belong to the change.
    fileprivate var hasFiles: Bool {
        guard case .changed(let item) = self, case .success(let opened) = item.result else { return false }
        return opened.record.hasAssets
    }
}

/// The downloads of one page of records.
private struct AssetFetches: Sendable {
    let requests: DatabaseRequests

    /// One asset of a record.
    struct Fetch: Sendable {
        /// The record's place in the page.
        var record: Int
        var id: RecordID
        var slot: AssetSlot
        var value: AssetValue
        /// The key that seals the file; nil: it is plain.
        var secret: AssetSecret?
        var digest: AssetDigest
        var name: AssetCacheName
    }

    /// Returns the files to fetch for a record.
    func fetches(of opened: OpenedRecord, at index: Int) throws(RequestFailure) -> [Fetch] {
        try opened.record.assets().map { slot, value in
            let secret = opened.assetSecrets[slot]
            let digest =
                secret.map { AssetDigest(size: Int64($0.plainSize), checksum: .content($0.plainSHA256)) }
                ?? AssetDigest(size: value.size, checksum: .file(value.fileChecksum))
            return Fetch(
                record: index, id: opened.record.id, slot: slot, value: value, secret: secret, digest: digest,
                name: AssetCacheName(digest, container: requests.connection.identifier ?? ""))
        }
    }

    /// Fetches each file once, and gives each asset a staged copy.
    func run(
        _ fetches: [Fetch], _ progress: @escaping AssetProgress
    ) async throws -> [Result<StagedFile, CallFailure>] {
        let groups = Dictionary(grouping: fetches.enumerated(), by: \.element.name).values
            .sorted { $0[0].offset < $1[0].offset }
        let tally = TransferProgressCounter()
        for fetch in fetches where !cache.holds(fetch.name) {
            tally.expect(fetch.value.size, ofRecord: fetch.record)
        }
        let results = try await concurrentMap(groups, atMost: Self.width) { group in
            do {
                let file = try await fetch(group[0].element) { received in
                    for (offset, fetch) in group {
                        if let fraction = tally.note(received, ofFile: offset, ofRecord: fetch.record) {
                            await progress(fetch.record, fraction)
                        }
                    }
                }
                return try group.map { offset, fetch in
                    // Others get a copy of their own, so that an app may do with each what it likes.
                    (
                        offset,
                        Result<StagedFile, CallFailure>.success(
                            offset == group[0].offset ? file : try cache.staged(fetch.name) ?? file)
                    )
                }
            } catch {
                let failure = Task.isCancelled ? .cancelled : CallFailure(error)
                guard !failure.concernsConnection else { throw failure }
                return group.map { ($0.offset, Result<StagedFile, CallFailure>.failure(failure)) }
            }
        }
        return results.flatMap(\.self).sorted { $0.0 < $1.0 }.map(\.1)
    }

    private static let width = 2

    private var cache: AssetCache { requests.connection.assets }

    private func fetch(_ fetch: Fetch, received: (Int64) async -> Void) async throws(CallFailure) -> StagedFile {
        if let file = try cache.staged(fetch.name) { return file }
        let transfers = AssetRequests(cloud: requests.connection.cloud, settings: requests.settings)
        guard let address = fetch.value.downloadURL else {
            throw .assetNotAvailable("The cloud gave no address for the file")
        }
        let partial = try cache.partial(fetch.name)
        let download = PiecewiseDownload(
            requests: transfers, length: fetch.value.size, secret: fetch.secret, digest: fetch.digest,
            pieceBytes: requests.connection.pieceBytes)
        try await download.run(into: partial, from: try transfers.url(address)) { () async throws(CallFailure) in
            try await renewedAddress(of: fetch, transfers)
        } received: {
            await received($0)
        }
        return try cache.keep(partial, as: fetch.name)
    }

    /// Another address for the same file, which the record gives when it is fetched again; nil when it has another file now.
    private func renewedAddress(of fetch: Fetch, _ transfers: AssetRequests) async throws(CallFailure) -> URL? {
        do {
            let request = LookupRecordsRequest(
                records: [.init(recordName: fetch.id.recordName)], zoneID: fetch.id.zoneID,
                desiredKeys: [fetch.slot.field])
            guard case .record(let record) = try await requests.lookup(request).first,
                let asset = try record.assets().first(where: { $0.value.fileChecksum == fetch.value.fileChecksum }),
                let address = asset.value.downloadURL
            else { return nil }
            return try transfers.url(address)
        } catch {
            throw Task.isCancelled ? .cancelled : CallFailure(error)
        }
    }
}
