import CloudKitModel
import CloudKitRecordLayer

/// Opens the file that a download URL names.
package struct OpenAssetDownload: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Opens the file of a download URL.
    ///
    /// - Throws: `accessDenied` for a token that is not this cloud's or has expired; `assetNotAvailable` when the file
    ///   is gone (B-AST-05); the failure that a fault orders.
    package func run(_ token: String) async throws -> AssetFileReader {
        guard let token = AssetDownloadToken(token, by: cloud.assetSeal) else {
            throw RequestFailure(.accessDenied, "not a download URL of this cloud", remedy: "Fetch the record.")
        }
        guard cloud.serverEnvironment.now() < token.expires else {
            throw RequestFailure(.accessDenied, "the download URL has expired", remedy: "Fetch the record again.")
        }
        try await cloud.faults.check(token.bearer)
        guard try await cloud.files.length(of: token.id) == token.size else { throw RequestFailure.fileGone }
        return AssetFileReader(files: cloud.files, token: token)
    }
}

/// One file that may be read.
package struct AssetFileReader: Sendable {
    private let files: Files
    private let token: AssetDownloadToken

    fileprivate init(files: Files, token: AssetDownloadToken) {
        self.files = files
        self.token = token
    }

    /// The bytes of the file.
    package var size: Int64 { token.size }
    /// The checksum of the file.
    package var fileChecksum: String { token.fileChecksum }

    /// A URL at which the file can be fetched without this process for some minutes; nil where there is none.
    package var directURL: String? { files.directURL(of: token.id) }

    /// Returns the pieces of a part of the file, one after the other, read ahead of their use where the store is far away.
    package func pieces(of range: Range<Int64>) -> AssetFilePieces {
        AssetFilePieces(file: self, rest: range, reading: files.sequentialReading)
    }

    /// Returns all bytes of a piece.
    fileprivate func whole(_ piece: Range<Int64>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < piece.count {
            let rest = try await read(at: piece.lowerBound + Int64(bytes.count), count: piece.count - bytes.count)
            guard !rest.isEmpty else { throw RequestFailure.fileGone }
            if bytes.isEmpty { bytes = rest } else { bytes += rest }
        }
        return bytes
    }

    /// Returns the next bytes; fewer than `count` only at the end of the file.
    package func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        do {
            return try await files.read(token.id, at: offset, count: count)
        } catch let error as FilesError where error.code == .missing {
            throw RequestFailure.fileGone
        }
    }
}

/// The pieces of a part of a file.
package struct AssetFilePieces: Sendable {
    private let file: AssetFileReader
    /// The part that was not asked for yet.
    private var rest: Range<Int64>
    private let reading: FileReading
    private var pending: [Task<[UInt8], any Error>] = []

    fileprivate init(file: AssetFileReader, rest: Range<Int64>, reading: FileReading) {
        self.file = file
        self.rest = rest
        self.reading = reading
    }

    /// Returns the next piece; nil at the end.
    ///
    /// - Throws: `assetNotAvailable` where the file ends early.
    package mutating func next() async throws -> [UInt8]? {
        if reading.piecesAhead == 0 { return rest.isEmpty ? nil : try await file.whole(takePiece()) }
        while !rest.isEmpty, pending.count <= reading.piecesAhead {
            let piece = takePiece()
            pending.append(Task { [file] in try await file.whole(piece) })
        }
        return pending.isEmpty ? nil : try await pending.removeFirst().value
    }

    /// Ends reads that nobody waits for any more.
    package func cancel() { for task in pending { task.cancel() } }

    private mutating func takePiece() -> Range<Int64> {
        let end = min(rest.lowerBound + Int64(reading.pieceBytes), rest.upperBound)
        defer { rest = end..<rest.upperBound }
        return rest.lowerBound..<end
    }
}

extension RequestFailure {
    fileprivate static let fileGone = RequestFailure(
        .assetNotAvailable, "the asset is not available", remedy: "Fetch the record again.")
}
