import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation

/// One asset of a save.
private struct AssetJob: Sendable {
    /// The place of the record's operation in its request, and of the record in the list to save.
    var operation: Int
    var record: Int
    var place: AssetLocation
    var asset: any OutgoingAsset
    /// The assets of the record on the server.
    var held: [UploadedAsset]
    /// A Boolean value that indicates whether the app has never seen this record on the server, so that none of its
    /// assets can be there.
    var isNew: Bool
}

/// The step that one asset of a save needs.
private enum AssetStep: Sendable {
    /// The server has the file for this field.
    case keep(UploadedAsset)
    /// The server has the file in another record.
    case rereference(UploadedAsset)
    /// The server has the file, perhaps in another container.
    case copy(ImportedAsset)
    /// The file has to be sent.
    case upload(FileStamp, AssetDigest)
}

extension DatabaseRequests {
    /// Uploads the files of a batch's records where the server does not have them (B-AST-03).
    ///
    /// - Parameter progress: Gets the place of a record in the list to save and how much of its files is sent, below 1.
    /// - Returns: The fields of assets of each record, or why it cannot be saved, by the place of its operation.
    /// - Throws: What concerns all records: no connection, cancelled, overdue.
    func uploadAssets(
        of batch: ModifyPlan.Batch, _ progress: @escaping AssetProgress
    ) async throws -> [Int: Result<[AssetFieldValue], CallFailure>] {
        guard batch.items.contains(where: { !$0.assets.isEmpty }) else { return [:] }
        let uploads = AssetUploads(requests: self, zoneID: batch.zoneID)
        // Without keys nothing has to be sent.
        if uploads.isSealed { _ = try await zoneKeys(batch.zoneID) }
        return try await connection.cloud.clientEnvironment.within(deadline) {
            try await uploads.run(jobs(of: batch), of: batch, progress)
        }
    }

    private func jobs(of batch: ModifyPlan.Batch) -> [AssetJob] {
        batch.items.enumerated().flatMap { operation, item -> [AssetJob] in
            let change = item.operation.change
            return item.assets.flatMap(\.slots).map { slot, asset in
                AssetJob(
                    operation: operation, record: item.position,
                    place: AssetLocation(
                        address: address, record: item.id, recordType: change.recordType ?? "", slot: slot),
                    asset: asset, held: item.heldAssets, isNew: change.changeTag == nil)
            }
        }
    }
}

/// The uploads of one batch.
private struct AssetUploads: Sendable {
    let requests: DatabaseRequests
    let zoneID: ZoneID
    /// A Boolean value that indicates whether files are encrypted before they are sent.
    var isSealed: Bool { requests.scope != .public }

    private var transfers: AssetRequests {
        AssetRequests(cloud: requests.connection.cloud, settings: requests.settings)
    }

    func run(
        _ jobs: [AssetJob], of batch: ModifyPlan.Batch, _ progress: @escaping AssetProgress
    ) async throws -> [Int: Result<[AssetFieldValue], CallFailure>] {
        // Files that cannot be read are found before anything is sent.
        let steps = try await concurrentMap(jobs, atMost: Self.width) { job in try settled { try step(for: job) } }
        let isFailed = steps.contains { if case .failure = $0 { true } else { false } }
        guard !(isFailed && batch.isAtomic(in: requests.scope)) else { return Self.failures(jobs, steps) }
        let tally = TransferProgressCounter()
        var works: [Work] = []
        for (index, (job, step)) in zip(jobs, steps).enumerated() {
            if case .success(.upload(_, let digest)) = step { tally.expect(digest.size, ofRecord: job.record) }
            works.append(Work(index: index, job: job, step: step))
        }
        let values = try await perform(addressed(works)) { work, sent, length in
            guard case .success(.upload(_, let digest)) = work.step else { return }
            // Sealing adds to the length; the fraction is what counts.
            let bytes = length > 0 ? Int64(Double(digest.size) * Double(sent) / Double(length)) : 0
            if let fraction = tally.note(bytes, ofFile: work.index, ofRecord: work.job.record) {
                await progress(work.job.record, fraction)
            }
        }
        return fields(of: batch, works, values)
    }

    /// Returns the failures of records, where they keep all others from being saved as well (B-BAT-02).
    private static func failures(
        _ jobs: [AssetJob], _ steps: [Result<AssetStep, CallFailure>]
    ) -> [Int: Result<[AssetFieldValue], CallFailure>] {
        var failures: [Int: Result<[AssetFieldValue], CallFailure>] = [:]
        for (job, step) in zip(jobs, steps) {
            if case .failure(let failure) = step { failures[job.operation] = .failure(failure) }
        }
        return failures
    }

    /// The number of files that are read, sent or fetched at a time.
    private static let width = 2

    /// An asset and the step that it needs.
    private struct Work: Sendable {
        var index: Int
        var job: AssetJob
        var step: Result<AssetStep, CallFailure>
        var url: String?
    }

    /// Lets failures of the connection end the whole batch; returns any other failure as that of one record.
    private func settled<Value>(_ body: () throws -> Value) throws -> Result<Value, CallFailure> {
        do {
            return .success(try body())
        } catch {
            return .failure(try Self.concerningItem(error))
        }
    }

    private static func concerningItem(_ error: any Error) throws -> CallFailure {
        let failure = Task.isCancelled ? .cancelled : CallFailure(error)
        guard !failure.concernsConnection, !failure.concernsZone else { throw failure }
        return failure
    }

    // MARK: What is to be done

    private func step(for job: AssetJob) throws(CallFailure) -> AssetStep {
        if let imported = job.asset.imported, job.asset.kept == nil {
            guard (imported.secret != nil) == isSealed else { throw Self.cannotImport(isSealed: isSealed) }
            return .copy(imported)
        }
        if let kept = job.asset.kept, kept.place.address == nil || kept.place.address == job.place.address,
            !(job.isNew && kept.place.record == job.place.record)
        {
            return step(kept, for: job)
        }
        let file = try AssetFile(job.asset.fileURL)
        job.asset.note(sending: file.stamp)
        let digest = try file.digest(isSealed: isSealed)
        try file.checkUnchanged()
        // Of several that have the contents, one of the same field costs no request.
        let same = job.held.filter { holds($0, digest, for: job.place) }
        guard let kept = same.first(where: { $0.place.slot.field == job.place.slot.field }) ?? same.first else {
            return .upload(file.stamp, digest)
        }
        return step(kept, for: job)
    }

    /// The server cannot seal a file, or open one.
    private static func cannotImport(isSealed: Bool) -> CallFailure {
        .invalidArguments(
            isSealed
                ? "An asset of a public database cannot be imported into a private or shared one, where files are sealed; "
                    + "fetch it and save CKAsset(fileURL:)"
                : "An asset of a private or shared database is sealed and cannot be imported into a public one; fetch it and "
                    + "save CKAsset(fileURL:)")
    }

    /// The server finds an asset that was in the same field by its checksum; elsewhere it wants a receipt.
    private func step(_ kept: UploadedAsset, for job: AssetJob) -> AssetStep {
        let isSame = kept.place.record == job.place.record && kept.place.slot.field == job.place.slot.field
        return isSame ? .keep(kept) : .rereference(kept)
    }

    /// Returns a Boolean value that indicates whether an asset that the record had has those contents.
    private func holds(_ kept: UploadedAsset, _ digest: AssetDigest, for place: AssetLocation) -> Bool {
        guard kept.place.record == place.record else { return false }
        switch digest.checksum {
        case .file(let checksum):
            return kept.value.fileChecksum == checksum && kept.value.size == digest.size
        case .content(let sha256):
            return kept.secret.map { $0.plainSHA256 == sha256 && Int64($0.plainSize) == digest.size } ?? false
        }
    }

    // MARK: Doing it

    /// Asks for the addresses of all files that have to be sent.
    private func addressed(_ works: [Work]) async throws -> [Work] {
        var works = works
        let indices = works.indices.filter { if case .success(.upload) = works[$0].step { true } else { false } }
        for start in stride(from: 0, to: indices.count, by: Self.uploadTargetsMax) {
            let part = indices[start..<min(start + Self.uploadTargetsMax, indices.count)]
            do {
                let uploadTargets = try await requests.uploadTargets(for: part.map { works[$0].job.place }, in: zoneID)
                for (index, ticket) in zip(part, uploadTargets) { works[index].url = ticket.url }
            } catch {
                // One bad field refuses them all; asked one by one, each record learns its own fate.
                _ = try Self.concerningItem(error)
            }
        }
        return works
    }

    /// As many as one request may ask for (docs/web-services.md §7).
    private static let uploadTargetsMax = 200

    private func perform(
        _ works: [Work], sent: @escaping @Sendable (Work, Int64, Int64) async -> Void
    ) async throws -> [Result<AssetFieldValue.Element, CallFailure>] {
        try await concurrentMap(works, atMost: Self.width) { work in
            do {
                switch try work.step.get() {
                case .keep(let kept): return .success(.init(value: kept.value.sent, secret: kept.secret))
                case .copy(let imported):
                    let value = try await requests.copy(imported, to: work.job.place, in: zoneID)
                    return .success(.init(value: value, secret: imported.secret))
                case .rereference(let kept): return .success(try await rereference(kept, for: work, sent))
                case .upload(let stamp, let digest):
                    return .success(try await upload(work, stamp, digest) { await sent(work, $0, $1) })
                }
            } catch {
                return .failure(try Self.concerningItem(error))
            }
        }
    }

    /// Sends a file, from the start when the cloud has lost the beginning.
    private func upload(
        _ work: Work, _ stamp: FileStamp, _ digest: AssetDigest, sent: (Int64, Int64) async -> Void
    ) async throws -> AssetFieldValue.Element {
        var url = work.url
        for attempt in 1...Self.attemptsMax {
            let file = try AssetFile(work.job.asset.fileURL)
            guard file.stamp == stamp else {
                throw CallFailure.assetFileModified("The asset's file changed while it was sent")
            }
            let secret = try secret(for: digest)
            let bytes = try OutgoingBytes(file, secret: secret, digest: digest)
            if url == nil { url = try await requests.uploadTargets(for: [work.job.place], in: zoneID).first?.url }
            let upload = PiecewiseUpload(
                requests: transfers, url: try transfers.url(url ?? ""), pieceBytes: requests.connection.pieceBytes)
            switch try await upload.run(bytes, sent: { await sent($0, bytes.length) }) {
            case .uploaded(let value): return .init(value: value.sent, secret: secret)
            case .lost(let failure):
                guard attempt < Self.attemptsMax else { throw failure }
                url = nil
            }
        }
        throw CallFailure.answerMalformed(status: 200)
    }

    private static let attemptsMax = 3

    private func secret(for digest: AssetDigest) throws(CallFailure) -> AssetSecret? {
        guard isSealed, case .content(let sha256) = digest.checksum else { return nil }
        do throws(EncryptionError) {
            return try AssetSecret(plainSize: Int(digest.size), plainSHA256: sha256)
        } catch {
            throw .assetDamaged(error.description)
        }
    }

    /// Uses the file of another record; where the cloud does not give that, the staged copy is sent.
    private func rereference(
        _ kept: UploadedAsset, for work: Work, _ sent: @escaping @Sendable (Work, Int64, Int64) async -> Void
    ) async throws -> AssetFieldValue.Element {
        if let value = try await requests.rereference(kept, in: zoneID) {
            return .init(value: value, secret: kept.secret)
        }
        let file = try AssetFile(work.job.asset.fileURL)
        let digest = try file.digest(isSealed: isSealed)
        return try await upload(work, file.stamp, digest) { await sent(work, $0, $1) }
    }

    // MARK: -

    private func fields(
        of batch: ModifyPlan.Batch, _ works: [Work], _ values: [Result<AssetFieldValue.Element, CallFailure>]
    ) -> [Int: Result<[AssetFieldValue], CallFailure>] {
        var elements: [Int: Result<[AssetSlot: AssetFieldValue.Element], CallFailure>] = [:]
        for (work, value) in zip(works, values) {
            elements[work.job.operation] = (elements[work.job.operation] ?? .success([:])).flatMap { known in
                value.map { known.merging([work.job.place.slot: $0]) { $1 } }
            }
        }
        var fields: [Int: Result<[AssetFieldValue], CallFailure>] = [:]
        for (operation, item) in batch.items.enumerated() where !item.assets.isEmpty {
            fields[operation] = elements[operation]?.map { elements in
                item.assets.map { field in
                    AssetFieldValue(
                        name: field.name, isList: field.isList, elements: field.slots.compactMap { elements[$0.0] })
                }
            }
        }
        return fields
    }
}

extension DatabaseRequests {
    /// Addresses to upload files to.
    fileprivate func uploadTargets(for places: [AssetLocation], in zoneID: ZoneID) async throws -> [AssetUploadTarget] {
        let items = places.map {
            AssetUploadRequest.Item(
                recordType: $0.recordType, recordName: $0.record.recordName, fieldName: $0.slot.field)
        }
        let request = AssetUploadRequest(items: items, zoneID: zoneID)
        let uploadTargets = try await call(.uploadAssets, request.wire(), needsUser: true) {
            try [AssetUploadTarget](wireAnswer: $0)
        }
        return try counted(uploadTargets, places.count)
    }

    /// The server's copy of a file, with a receipt for a field.
    fileprivate func copy(
        _ imported: ImportedAsset, to place: AssetLocation, in zoneID: ZoneID
    ) async throws -> AssetValue {
        let request = ImportAssetRequest(
            item: .init(
                recordType: place.recordType, recordName: place.record.recordName, fieldName: place.slot.field),
            zoneID: zoneID, downloadURL: imported.downloadURL)
        let outcomes = try await call(.importAsset, request.wire(), needsUser: true) {
            try [RereferenceOutcome](wireAnswer: $0)
        }
        // Another file would not open, or open as something else.
        guard case .asset(let value) = outcomes.first, value.fileChecksum == imported.fileChecksum,
            value.size == imported.size
        else { throw CallFailure.assetDamaged("The cloud copied another file than the one that was exported") }
        return value.sent
    }

    /// The asset of another record, with a receipt for this zone; nil when the cloud does not have it there any more.
    fileprivate func rereference(_ kept: UploadedAsset, in zoneID: ZoneID) async throws -> AssetValue? {
        let place = kept.place
        let request = RereferenceAssetsRequest(
            items: [.init(recordName: place.record.recordName, fieldName: place.slot.field)],
            zoneID: place.record.zoneID, targetZoneID: zoneID)
        let outcomes = try await call(.rereferenceAssets, request.wire(), needsUser: true) {
            try [RereferenceOutcome](wireAnswer: $0)
        }
        // A list answers with one of its assets.
        guard case .asset(let value) = outcomes.first, value.fileChecksum == kept.value.fileChecksum else { return nil }
        return value.sent
    }
}
