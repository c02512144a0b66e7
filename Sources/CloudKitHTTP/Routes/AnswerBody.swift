import HummingbirdCore
import NIOCore

/// An answer that is sent in pieces, as fast as the client reads; its connection is closed if it does not.
struct AnswerBody {
    /// Larger answers are sent in pieces.
    static let pieceBytes = 131_072

    var bytes: [UInt8]
    /// Given back once the answer was sent.
    var reservation: AnswerReservation?
    var connection: TrackedConnection

    /// Writes the answer; each piece waits until the connection takes it.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest.dropFirst(piece.count)
            try await writer.write(ByteBuffer(bytes: piece))
            connection.answerSent(piece.count)
        }
        try await writer.finish(nil)
        reservation?.resize(to: 0)
    }

    /// Returns the bytes of an answer that its connection has to take in each interval: those of files, or so many that the largest
    /// answer ends within a bounded time, since it is held in memory until then.
    static func bytesMin(of byteCount: Int, at rate: MinimumTransferRate) -> Int {
        max(rate.bytesMin, byteCount / intervalsMax)
    }

    /// Intervals of the minimum rate that an answer may take.
    private static let intervalsMax = 20
}
