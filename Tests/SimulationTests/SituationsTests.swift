import Testing

/// Histories that never come to what they are about would prove nothing.
@Suite struct SituationsTests {
    /// What must occur in some of the histories, as their trails have it.
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
        ":readOnly", ":readWrite", "opens the link", "takes the free seat", "tries the taken seat",
        "asks for access to", "(who likes may ask)", "(nobody may ask)", " sends away ", " blocks ", " unblocks ",
        "leaves ", "deletes S",
        "    participantMayNeedVerification", "    participantAlreadyInvited",
        // People
        "eve signs up", "eve-1 opens the link", "begins anew with other keys", "with other keys and takes part in",
        // Files, queries, room
        "uploads ", "copies the file", "attaches ", "takes the file out of", "files are swept", " asks ada/",
        ", the next page",
        "there is no room", "    quotaExceeded", "there is room again",
        // Trouble
        "(requestLost)", "(answerLost)", "(doubled)", "dies", "the cloud restarts", "the clock jumps by -",
        "the clock jumps by 3456000",
        // Keys
        "begins key epoch", "hands out keys", "seals anew", "saves anew", "waits for keys",
        "writes, when all have come to rest,",
    ]

    @Test func `histories come to all that they are about`() async throws {
        var missing = Set(Self.situations)
        for seed in 0..<300 as Range<UInt64> where !missing.isEmpty {
            let simulation = try await Simulation(seed: seed, engine: .memory)
            // What goes wrong is for other tests to say.
            try? await simulation.run(Array(0..<SimulationTests.steps))
            for line in simulation.trail.lines { missing = missing.filter { !line.contains($0) } }
        }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }
}
