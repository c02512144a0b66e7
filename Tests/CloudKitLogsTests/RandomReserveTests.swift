import Testing

@testable import CloudKitLogs

@Suite(.timeLimit(.minutes(1)))
struct RandomReserveTests {
    @Test func `no two identifiers are the same, whichever task asks`() async {
        let count = 2_000
        let drawn = await withTaskGroup(of: [LogID].self) { group in
            for _ in 0..<4 { group.addTask { (0..<count).map { _ in LogID(milliseconds: 1) } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(drawn).count == 4 * count)
        // Each bit but those of the time, the version and the variant is sometimes set and sometimes not.
        let (everHigh, alwaysHigh) = drawn.reduce((0, .max)) { ($0.0 | $1.high, $0.1 & $1.high) }
        let (everLow, alwaysLow) = drawn.reduce((0, .max)) { ($0.0 | $1.low, $0.1 & $1.low) }
        #expect(everHigh == 0x1_7FFF && alwaysHigh == 0x1_7000)
        #expect(everLow == 0b1011 << 60 | (1 << 60 - 1) && alwaysLow == 0b10 << 62)
    }
}
