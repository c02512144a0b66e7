import CloudKitModel
import Hummingbird
import NIOCore

/// Takes a request's body as one piece.
struct BodyReader {
    /// More than this is refused (B-LIM-02).
    var bytesMax: Int
    /// More than this is not even read to the end; the connection closes instead.
    var drainedBytesMax: Int

    enum Outcome {
        case body([UInt8])
        case tooLarge
        /// Too large to be worth reading to its end.
        case abandoned
        /// The client hung up, or its body is no HTTP.
        case broken
    }

    /// Reads to the end even what is refused: only then does the client read our answer, and the connection stays usable.
    func read(_ body: RequestBody, announced: Int?) async -> Outcome {
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
