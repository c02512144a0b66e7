import CloudKitModel
import CloudKitRecordLayer

/// One permitted upload.
///
/// A file arrives as a whole or in pieces. Each piece states its position and the length of the file; bytes that are
/// there already are skipped, so that a piece may be repeated. An upload has to begin within 15 minutes; in pieces it
/// may take up to a day.
package struct AssetUploadSession: Sendable {
    let cloud: Cloud
    let token: AssetUploadToken

    /// The bearer of its URL.
    package var bearer: AssetBearer { token.bearer }
    /// The most bytes the file may have.
    package var bytesMax: Int64 { token.bytesMax }

    /// Returns how much of a file in pieces is stored, and whether it is complete.
    package func progress() async throws -> (offset: Int64, isComplete: Bool) {
        if let length = try await cloud.files.length(of: token.id) { return (length, true) }
        return (try await cloud.files.draftLength(of: token.id) ?? 0, false)
    }

    /// Begins a file that comes as a whole; each time it is another file.
    ///
    /// - Parameter announced: Bytes to come, if the client said.
    /// - Throws: `accessDenied` after 15 minutes; `sizeLimitExceeded`; `tryAgainLater` when the disk is nearly full.
    package func receiveWhole(announced: Int64?) async throws -> AssetReceiver {
        guard isNew else { throw RequestFailure.uploadExpired }
        try await checkSpace(for: announced ?? 0, of: announced ?? 0)
        var token = token
        token.id = try .random(in: token.purpose.partition, cloud.serverEnvironment)
        return AssetReceiver(cloud: cloud, token: token, isWhole: true, lengthMax: token.bytesMax)
    }

    /// Goes on with a file that comes in pieces.
    ///
    /// - Parameters:
    ///   - offset: Where in the file the piece begins.
    ///   - length: Bytes that the whole file will have.
    /// - Throws: `conflict` when bytes before the piece are missing: ask for the progress; and as `receiveWhole`.
    package func receivePiece(at offset: Int64, of length: Int64) async throws -> AssetReceiver {
        guard length >= 0, (0...length).contains(offset) else {
            throw RequestFailure(.badRequest, "the piece lies outside the file")
        }
        let (held, isComplete) = try await progress()
        if isComplete {
            guard held == length else { throw RequestFailure.otherLength }
            return AssetReceiver(
                cloud: cloud, token: token, isWhole: false, lengthMax: length, bytesToSkip: length - offset, held: held)
        }
        guard held > 0 || isNew else { throw RequestFailure.uploadExpired }
        guard held <= length else { throw RequestFailure.otherLength }
        guard offset <= held else {
            throw RequestFailure(
                .conflict, "the piece does not follow what is there",
                remedy: "Ask for the offset with HEAD and go on there.")
        }
        try await checkSpace(for: length - held, of: length)
        var reception = AssetReceiver(
            cloud: cloud, token: token, isWhole: false, lengthMax: length, bytesToSkip: held - offset, held: held)
        try await reception.resumeChecksum()
        return reception
    }

    private var isNew: Bool { cloud.serverEnvironment.now() < token.issued + cloud.limits.assetLifetimes.begin }

    /// Checks that a file of a length is permitted and that there is space for the bytes that are still to come.
    private func checkSpace(for bytes: Int64, of length: Int64) async throws {
        guard length <= token.bytesMax else { throw RequestFailure.assetTooLarge(token.bytesMax) }
        guard try await cloud.files.freeBytes() - bytes >= cloud.limits.freeBytesMin else {
            throw RequestFailure(
                .tryAgainLater, "there is no space for the file now", remedy: "Try again later.", retryAfter: 60)
        }
    }
}

extension RequestFailure {
    static let uploadExpired = RequestFailure(
        .accessDenied, "the upload URL has expired", remedy: "Ask for another one with assets/upload.")

    static let otherLength = RequestFailure(
        .badRequest, "the file has another length than was said before", remedy: "Begin again with another upload URL.")

    /// B-LIM-10; the code is that of other sizes (docs/web-services.md §13).
    static func assetTooLarge(_ bytesMax: Int64) -> RequestFailure {
        RequestFailure(
            .sizeLimitExceeded, "asset too large: it can have \(bytesMax) bytes", remedy: "Upload a smaller file.")
    }

    /// B-THR-01.
    static let quotaExceeded = RequestFailure(
        .quotaExceeded, "Quota exceeded", remedy: "Delete something, or ask for more space.",
        retryAfter: Limits.quotaRetryAfter)
}
