/// An unambiguous encoding of a purpose and parts, each behind its length.
///
/// Every associated data, every derivation's info and everything signed is a frame: no two places or purposes have the same.
/// A part is its length in 4 bytes, big-endian, and its bytes; numbers are parts of 4 or 8 bytes, big-endian.
struct Frame {
    private(set) var bytes: [UInt8] = []

    /// An empty frame, whose parts are to follow another's.
    init() { bytes.reserveCapacity(160) }

    init(_ purpose: String) {
        self.init()
        append(purpose)
    }

    /// A purpose and the parts of another frame.
    init(_ purpose: String, _ parts: Frame) {
        self.init(purpose)
        append(parts)
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { appendPart($0) }
    }

    mutating func append(_ part: [UInt8]) { part.withUnsafeBufferPointer { appendPart($0) } }

    mutating func append(_ number: UInt32) { withUnsafeBytes(of: number.bigEndian) { appendPart($0) } }

    mutating func append(_ number: UInt64) { withUnsafeBytes(of: number.bigEndian) { appendPart($0) } }

    /// All parts of another frame, as they are.
    mutating func append(_ frame: Frame) { bytes.append(contentsOf: frame.bytes) }

    private mutating func appendPart(_ part: some Collection<UInt8>) {
        bytes.appendBigEndian(UInt32(part.count))
        bytes.append(contentsOf: part)
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
