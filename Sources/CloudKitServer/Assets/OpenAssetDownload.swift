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

    /// Returns the next bytes; fewer than `count` only at the end of the file.
    package func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        do {
            return try await files.read(token.id, at: offset, count: count)
        } catch let error as FilesError where error.code == .missing {
            throw RequestFailure.fileGone
        }
    }
}

extension RequestFailure {
    fileprivate static let fileGone = RequestFailure(
        .assetNotAvailable, "the asset is not available", remedy: "Fetch the record again.")
}
