import Testing

/// Histories that never come to what they are about would prove nothing.
@Suite struct SituationsTests {
    /// What must occur in some of the histories, as their trails have it.
    private static let situations = [
        // Feeds
        "old deletions are forgotten everywhere", "deletions in ", "tokens of ", "    changeTokenExpired",
        "    zonePurged", "    zoneKeysReset",
        // People
        "eve signs up", "eve-1 opens the link", "begins anew with other keys", "takes the free seat",
        "    participantMayNeedVerification", "    participantAlreadyInvited", "asks for access to",
        " blocks ", "leaves ",
        // Files, queries, room
        "uploads ", "copies the file", "attaches ", "takes the file out of", "files are swept", ", the next page",
        "    quotaExceeded", "there is room again",
        // Trouble
        "(requestLost)", "(answerLost)", "(doubled)", "dies", "the cloud restarts", "the clock jumps by -",
        // Keys
        "begins key epoch", "hands out keys", "waits for keys",
    ]

    @Test func `histories come to all that they are about`() async throws {
        var missing = Set(Self.situations)
        for seed in 0..<200 as Range<UInt64> where !missing.isEmpty {
            let simulation = try await Simulation(seed: seed, engine: .memory)
            // What goes wrong is for other tests to say.
            try? await simulation.run(Array(0..<SimulationTests.steps))
            for line in simulation.trail.lines { missing = missing.filter { !line.contains($0) } }
        }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }
}
