/// What rules about people and tokens take from outside: the time, chance, and the cloud's secret.
package struct Surroundings: Sendable {
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// A clock that only runs forward, from an arbitrary start.
    package var uptime: @Sendable () -> Duration
    /// Waits that long, where work pauses by itself. Throws `CancellationError`.
    package var rest: @Sendable (Duration) async throws -> Void
    /// That many unpredictable bytes.
    package var random: @Sendable (Int) -> [UInt8]
    /// 32 bytes that only this cloud knows. Whoever has them can make any token.
    package var secret: [UInt8]

    package init(
        secret: [UInt8], now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8] = Surroundings.systemRandom,
        uptime: @escaping @Sendable () -> Duration = Surroundings.systemUptime,
        rest: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.secret = secret
        self.now = now
        self.random = random
        self.uptime = uptime
        self.rest = rest
    }

    package static let systemUptime: @Sendable () -> Duration = {
        let start = ContinuousClock.now
        return { ContinuousClock.now - start }
    }()

    package static let systemRandom: @Sendable (Int) -> [UInt8] = { count in
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// `count` random bytes in hexadecimal.
    func randomHex(bytes count: Int) -> String { random(count).hex }

    /// A random UUID, in capitals.
    func randomUUID() -> String { UUIDText.text(random(16), version: 4) }
}

/// UUIDs as they are written.
enum UUIDText {
    /// - Parameter bytes: 16 of them.
    static func text(_ bytes: [UInt8], version: UInt8) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | version << 4
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hex.uppercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits a byte.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Compares without telling by its duration where the first difference is.
func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}
