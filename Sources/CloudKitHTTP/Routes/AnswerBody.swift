import Hummingbird
import NIOCore

/// An answer that is sent in pieces, as fast as the client reads; one that it does not read is ended.
struct AnswerBody {
    /// Larger answers are sent in pieces.
    static let pieceBytes = 131_072

    var bytes: [UInt8]
    /// Given back once the answer was sent.
    var reservation: AnswerReservation?
    var minimumRate: MinimumTransferRate
    var channel: any Channel

    /// Writes the answer; each piece waits until the connection takes it.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let sent = TransferredByteCount()
        async let _: Void = rate.watch(sent, on: channel)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest.dropFirst(piece.count)
            try await writer.write(ByteBuffer(bytes: piece))
            sent.add(piece.count)
        }
        try await writer.finish(nil)
        reservation?.resize(to: 0)
    }

    /// The rate of files, or one that ends the largest answer within a bounded time: it is held in memory until then.
    private var rate: MinimumTransferRate {
        var rate = minimumRate
        rate.bytesMin = max(rate.bytesMin, bytes.count / Self.intervalsMax)
        return rate
    }

    /// Intervals of the minimum rate that an answer may take.
    private static let intervalsMax = 20
}
