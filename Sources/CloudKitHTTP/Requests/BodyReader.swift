import CloudKitModel
import Hummingbird
import NIOCore

/// Reads a request's body as a whole.
struct BodyReader {
    /// A larger body is refused (B-LIM-02).
    var bytesMax: Int
    /// A body that is even larger is not read to its end; the connection closes instead.
    var drainedBytesMax: Int

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
        drainedBytesMax = 32 * bytesMax
    }

    /// Reads the body into the request.
    ///
    /// - Throws: `sizeLimitExceeded`; `badRequest` for a body that did not arrive.
    func readBody(of request: IncomingRequest) async throws(RequestFailure) {
        switch await read(request.incomingBody, announced: request.announcedBytes) {
        case .body(let bytes):
            request.body = bytes
            request.bytesIn = bytes.count
        case .tooLarge: throw Self.tooLarge
        case .abandoned:
            request.responseHeaders[.connection] = "close"
            throw Self.tooLarge
        case .broken:
            request.responseHeaders[.connection] = "close"
            throw RequestFailure(.badRequest, "the request's body did not arrive")
        }
    }

    private enum Outcome {
        case body([UInt8])
        case tooLarge
        /// Too large to be worth reading to its end.
        case abandoned
        /// The client disconnected, or its body is not valid HTTP.
        case broken
    }

    private static let tooLarge = RequestFailure(
        .sizeLimitExceeded, "request too large", remedy: "Send at most 2 MB in a request; send the halves.")

    /// Reads a refused body to its end as well: only then does the client read the response, and the connection stays usable.
    private func read(_ body: RequestBody, announced: Int?) async -> Outcome {
        if let announced, announced > drainedBytesMax { return .abandoned }
        var whole: ByteBuffer?
        var count = 0
        do {
            for try await part in body {
                count += part.readableBytes
                if count > drainedBytesMax { return .abandoned }
                if count > bytesMax {
                    whole = nil
                } else if var joined = whole {
                    whole = nil  // so that joining need not copy
                    joined.writeImmutableBuffer(part)
                    whole = joined
                } else {
                    whole = part
                    if let announced, announced > part.readableBytes, announced <= bytesMax {
                        whole?.reserveCapacity(minimumWritableBytes: announced - part.readableBytes)
                    }
                }
            }
        } catch {
            return .broken
        }
        if count > bytesMax { return .tooLarge }
        return .body(whole.map { Array($0.readableBytesView) } ?? [])
    }
}
