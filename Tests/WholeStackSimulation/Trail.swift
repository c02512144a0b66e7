import CDeterministicProcess

/// The record of a history: every message of the network, each disk fault, crash and outcome, with its time.
///
/// Two runs of a seed leave the same bytes.
final class Trail: Sendable {
    private let lines: Shared<[String]>
    private let sum: Shared<UInt64>
    private let start: Int64

    /// The number of lines.
    var count: Int { lines.value.count }
    /// A digest of all lines.
    var digest: String { String(sum.value, radix: 16) }
    /// The lines.
    var text: String { lines.value.joined(separator: "\n") }

    init() {
        lines = Shared([])
        sum = Shared(Self.basis)
        start = deterministic_now()
    }

    /// The time since the history began, microseconds.
    var time: Int64 { (deterministic_now() - start) / 1000 }

    /// Adds a line.
    func note(_ text: String) {
        let line = "\(time) \(text)"
        lines.value.append(line)
        sum.value = Self.digest(line.utf8, from: sum.value)
    }

    /// Returns a digest of bytes, for lines.
    static func digest(_ bytes: some Sequence<UInt8>) -> String { String(digest(bytes, from: basis), radix: 16) }

    private static let basis: UInt64 = 0xCBF2_9CE4_8422_2325

    /// FNV-1a: it tells runs apart, and protects from nothing.
    private static func digest(_ bytes: some Sequence<UInt8>, from start: UInt64) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
