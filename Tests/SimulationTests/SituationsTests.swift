import Testing

/// Checks that the histories cover the situations that they are meant to test.
@Suite(.timeLimit(.minutes(120))) struct SituationsTests {
    /// The log lines that have to occur in some of the histories.
    private static let situations = [
        // Records
        "updates ", "overwrites ", "adds, below ", "moves, below ", "saves [", ", all or none", "deletes R",
        "    conflict", "    recordExists", "    itemNotFound", "    accessDenied", "    referenceViolation",
        "alreadyShared", "    staleKeyEpoch",
        // Feeds
        "old deletions are forgotten everywhere", "deletions in ", "is forgotten; ada-2 still knows it",
        "is forgotten; cat-1 still knows it", "tokens of ", "'s database expire",
        "deleted zones of ", "    changeTokenExpired", "    zonePurged", "    zoneKeysReset", "    zoneNotFound",
        // Zones
        "the operator purges", "are lost", "deletes ada/", "makes ben/",
        // Shares
        "shares R", "shares everything", "open to all (readOnly)", "open to all (readWrite)", ":administrator",
        ":readOnly", ":readWrite", "opens the link", "takes the free slot", "tries the taken slot",
        "asks for access to", "(any user may ask)", "(no user may ask)", " sends away ", " blocks ", " unblocks ",
        "leaves ", "deletes S",
        "    participantMayNeedVerification", "    participantAlreadyInvited",
        // Users
        "eve signs up", "eve-1 opens the link", "begins again with other keys", "with other keys and takes part in",
        // Files, queries, quota
        "uploads ", "copies the file", "attaches ", "takes the file out of", "files are swept", " asks ada/",
        ", the next page",
        "the quota is exhausted", "    quotaExceeded", "the quota is removed",
        // Faults
        "(requestLost)", "(answerLost)", "(doubled)", "dies", "the cloud restarts", "the clock jumps by -",
        "the clock jumps by 3456000",
        // Keys
        "begins key epoch", "hands out keys", "seals again", "saves again", "waits for keys",
        "writes, when all are in sync,",
    ]

    @Test func `histories cover all situations`() async throws {
        var missing = Set(Self.situations)
        for seed in 0..<300 as Range<UInt64> where !missing.isEmpty {
            let simulation = try await Simulation(seed: seed, engine: .memory)
            // Failures are reported by other tests.
            try? await simulation.run(Array(0..<SimulationTests.steps))
            for line in simulation.trail.lines { missing = missing.filter { !line.contains($0) } }
        }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }
}
