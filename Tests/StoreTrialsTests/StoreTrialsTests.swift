import CloudUnderTest
import Testing

/// Runs trials of the store's engine, each in a process whose files or memory fail; `script/store-trials` runs more of them.
@Suite(.timeLimit(.minutes(60))) struct StoreTrialsTests {
    @Test(arguments: [
        "unreadable", "unwritable", "full", "short-then-full", "short", "interrupted", "too-many-files", "unsynced",
        "unlockable", "any", "memory",
    ])
    func `a fault at any call loses nothing acknowledged and ends with its cause`(fault: String) async throws {
        try await expectSuccess(["faults", "--fault", fault, "--sample", "25"])
    }

    @Test func `no power cut loses an acknowledged commit or leaves half of one`() async throws {
        try await expectSuccess(["power-cuts", "--count", "400"])
    }

    @Test func `no power cut loses a sealed file or leaves half of one`() async throws {
        try await expectSuccess(["asset-cuts", "--count", "600"])
    }

    @Test func `processes that open, write and close beside a store lose nothing`() async throws {
        try await expectSuccess(["neighbours", "--seconds", "2"])
    }

    @Test func `a log that starts over under a checkpoint loses nothing`() async throws {
        try await expectSuccess(["reset-race"])
    }

    /// Runs the program, which prints what failed.
    private func expectSuccess(_ arguments: [String], _ location: SourceLocation = #_sourceLocation) async throws {
        let (status, text) = try await ChildProcess.run(program: "store-trials", arguments)
        #expect(status == 0, "\(arguments): \(text.suffix(4000))", sourceLocation: location)
    }
}
