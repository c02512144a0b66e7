import FaultyNetwork

/// One frame of HTTP/2 (RFC 9113 §4.1), with the types that the tests need.
struct Frame: Hashable {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case reset = 3
        case settings = 4
        case goAway = 7
    }

    var kind: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]

    init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        (self.kind, self.flags, self.stream, self.payload) = (kind.rawValue, flags, stream, payload)
    }

    static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    static let endsStream: UInt8 = 1
    static let isAcknowledgement: UInt8 = 1
    static let endsHeaders: UInt8 = 4

    /// The header of an answer with status 200: place 8 in the table that both sides know (RFC 7541, appendix A).
    static func ok(_ stream: UInt32, ends: Bool = false) -> Frame {
        Frame(.headers, flags: endsHeaders | (ends ? endsStream : 0), stream: stream, [0x88])
    }

    var endsItsStream: Bool {
        (kind == Kind.data.rawValue || kind == Kind.headers.rawValue) && flags & Self.endsStream != 0
    }

    var bytes: [UInt8] {
        let length = [UInt8(payload.count >> 16 & 0xFF), UInt8(payload.count >> 8 & 0xFF), UInt8(payload.count & 0xFF)]
        return length + [kind, flags] + Self.bytes(stream) + payload
    }

    /// A number of 32 bits, the highest byte first.
    static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}

extension RawStream {
    /// Reads the preface of an HTTP/2 client and answers with the server's settings.
    ///
    /// - Returns: false for another protocol.
    mutating func beginSecondVersion() async throws -> Bool {
        let preface = Array(Frame.preface.utf8)
        guard try await bytes(preface.count) == preface else { return false }
        try await send(Frame(.settings).bytes)
        return true
    }

    /// The next frame; nil when the other side has closed.
    mutating func frame() async throws -> Frame? {
        guard let head = try await bytes(9) else { return nil }
        let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        guard let payload = try await bytes(length) else { return nil }
        var frame = Frame(.data, flags: head[4], stream: stream, payload)
        frame.kind = head[3]
        return frame
    }

    /// Reads until a request is there as a whole; acknowledges settings on the way.
    ///
    /// - Returns: The request's stream, and its body; nil when the other side has closed.
    mutating func secondVersionRequest() async throws -> (stream: UInt32, body: [UInt8])? {
        var bodies: [UInt32: [UInt8]] = [:]
        while let frame = try await frame() {
            if frame.kind == Frame.Kind.settings.rawValue, frame.flags & Frame.isAcknowledgement == 0 {
                try await send(Frame(.settings, flags: Frame.isAcknowledgement).bytes)
            }
            if frame.kind == Frame.Kind.data.rawValue { bodies[frame.stream, default: []] += frame.payload }
            if frame.endsItsStream { return (frame.stream, bodies[frame.stream] ?? []) }
        }
        return nil
    }
}
