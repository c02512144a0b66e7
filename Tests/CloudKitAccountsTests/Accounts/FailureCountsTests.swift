import Testing

@testable import CloudKitAccounts

@Suite(.timeLimit(.minutes(20))) struct FailureCountsTests {
    @Test func `a flood of keys is bounded, and forgets those with the fewest failures first`() {
        var counts = FailureCounts(failuresMax: 100, keysMax: 32, window: 1000)
        for _ in 0..<10 { counts.fail("ada", now: 0) }
        for number in 0..<10_000 { counts.fail("flood \(number)", now: 1) }
        #expect(counts.keyCount <= 32)
        #expect(counts.times(of: "ada").count == 10)
        #expect(counts.takeForgotten().contains("flood 0"))
        #expect(counts.takeForgotten().isEmpty)
    }

    @Test func `keys without recent failures are forgotten`() {
        var counts = FailureCounts(failuresMax: 5, keysMax: 32, window: 1000)
        counts.fail("old", now: 1000)
        counts.fail("new", now: 2500)
        #expect(counts.keyCount == 1)
        #expect(counts.takeForgotten() == ["old"])
    }

    @Test func `stored failures are taken over, those of a clock that was ahead as of now`() {
        var counts = FailureCounts(failuresMax: 2, keysMax: 32, window: 1000)
        counts.load("ada", times: [9000, 8000], now: 5000)
        #expect(counts.wait(for: "ada", now: 5000) == 1000)
        #expect(counts.wait(for: "ada", now: 6000) == nil)
        counts.load("old", times: [1], now: 5000)
        #expect(counts.takeForgotten() == ["old"])
    }

    @Test func `stored times are eight bytes each`() {
        let row = ProofFailures(times: [1, 0x0102_0304_0506_0708])
        #expect(row.rowBytes() == [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8])
        #expect(ProofFailures(rowBytes: row.rowBytes() + [1]).times == row.times)
    }
}
