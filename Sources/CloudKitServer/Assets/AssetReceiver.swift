import CloudKitModel
import CloudKitRecordLayer

/// Bytes of one file on their way from a client to the store, a piece at a time.
package struct AssetReceiver: Sendable {
    private let cloud: Cloud
    private let token: AssetUploadToken
    /// A flag for files to which no other request can write.
    private let isWhole: Bool
    private let lengthMax: Int64
    /// Bytes still to come that are there already.
    private var bytesToSkip: Int64
    /// Bytes of the file that are there.
    package private(set) var held: Int64
    private var checksum = AssetFileChecksum()

    init(
        cloud: Cloud, token: AssetUploadToken, isWhole: Bool, lengthMax: Int64, bytesToSkip: Int64 = 0, held: Int64 = 0
    ) {
        self.cloud = cloud
        self.token = token
        self.isWhole = isWhole
        self.lengthMax = lengthMax
        self.bytesToSkip = bytesToSkip
        self.held = held
    }

    private static let readBytes = 1_048_576

    /// Takes the next bytes; returns when the store has them, though not yet durably.
    ///
    /// - Throws: `sizeLimitExceeded` for a file longer than allowed or announced; `conflict` when another request wrote
    ///   to the file; errors of the store.
    package mutating func receive(_ bytes: [UInt8]) async throws {
        var bytes = bytes
        if bytesToSkip > 0 {
            let count = Int(min(bytesToSkip, Int64(bytes.count)))
            bytes.removeFirst(count)
            bytesToSkip -= Int64(count)
        }
        if bytes.isEmpty { return }
        guard Int64(bytes.count) <= lengthMax - held else { throw RequestFailure.assetTooLarge(lengthMax) }
        // Counts only with the bytes in the store.
        var next = checksum
        do {
            let (arrived, offset) = (bytes, held)
            async let appended: Void = cloud.files.append(arrived, to: token.id, at: offset)
            next.update(bytes)
            try await appended
        } catch let error as FilesError where error.code == .wrongOffset {
            throw RequestFailure(
                .conflict, "the file is being uploaded elsewhere",
                remedy: "Ask for the offset with HEAD and go on there.")
        }
        held += Int64(bytes.count)
        checksum = next
    }

    /// Ends a piece that is not the last: the bytes received are durable then.
    package func pause() async throws {
        guard held > 0 else { return }
        try await cloud.files.synchronize(token.id)
        cloud.assetDigests.put(checksum, for: token.id)
    }

    /// Ends a file that came as a whole and cannot be used.
    package func abandon() async throws { try await cloud.files.delete(token.id) }

    /// A flag for files with all their bytes.
    package var isComplete: Bool { held == lengthMax }

    /// Completes the file: it is durable, and its receipt can be saved.
    ///
    /// A repeated call returns another receipt for the same file.
    ///
    /// - Returns: The `singleFile` of docs/web-services.md §7.
    /// - Throws: `quotaExceeded` (B-AST-06); the file is gone then.
    package mutating func finish() async throws -> AssetValue {
        let asset = try await complete()
        let expires = asset.keptUntil - cloud.limits.assetLifetimes.grace
        let receipt = AssetReceipt(purpose: token.purpose, asset: asset, expires: expires)
        return AssetValue(
            fileChecksum: asset.fileChecksum, size: asset.size, receipt: try receipt.sealed(by: cloud.assetSeal))
    }

    private mutating func complete() async throws -> StoredAsset {
        let partition = token.purpose.partition
        let keptUntil =
            cloud.serverEnvironment.now() + cloud.limits.assetLifetimes.receipt + cloud.limits.assetLifetimes.grace
        if let known = try await AssetRegistration(cloud).keep(token.id, in: partition, until: keptUntil) {
            return known
        }
        if checksum.count != held { try await resumeChecksum() }
        try await cloud.files.seal(token.id)
        let asset = StoredAsset(id: token.id, size: held, fileChecksum: checksum.text, keptUntil: keptUntil)
        do {
            try await AssetRegistration(cloud).register(asset, in: partition)
        } catch let failure as RequestFailure {
            // Another request may be completing a file in pieces; it is swept if not.
            if isWhole { try await cloud.files.delete(token.id) }
            throw failure
        }
        return asset
    }

    /// Restores the checksum of the bytes received so far: remembered, or read from the file.
    mutating func resumeChecksum() async throws {
        if let known = cloud.assetDigests.take(token.id), known.count == held {
            checksum = known
            return
        }
        checksum = AssetFileChecksum()
        guard held > 0 else { return }
        let isSealed = try await cloud.files.length(of: token.id) != nil
        while checksum.count < held {
            let count = Int(min(Int64(Self.readBytes), held - checksum.count))
            let bytes =
                isSealed
                ? try await cloud.files.read(token.id, at: checksum.count, count: count)
                : try await cloud.files.readDraft(token.id, at: checksum.count, count: count)
            guard !bytes.isEmpty else { throw RequestFailure.uploadExpired }
            checksum.update(bytes)
        }
    }
}
