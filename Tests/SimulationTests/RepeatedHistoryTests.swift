import Testing

/// Checks that a seed determines a history completely.
@Suite(.timeLimit(.minutes(120))) struct RepeatedHistoryTests {
    /// Every fortieth seed.
    static var seeds: [UInt64] {
        guard let first = SimulationTests.batches.first?.lowerBound, let end = SimulationTests.batches.last?.upperBound
        else { return [] }
        return Array(stride(from: first, to: end, by: 40))
    }

    @Test(arguments: seeds)
    func `one seed gives one history, on both engines`(seed: UInt64) async throws {
        let first = try await Self.trail(seed, .memory)
        #expect(first.count > 500)
        for engine in [Engine.memory, .sqlite] {
            let again = try await Self.trail(seed, engine)
            let odd = zip(first, again).enumerated().first { $0.element.0 != $0.element.1 }
            #expect(
                odd == nil && first.count == again.count,
                """
                Seed \(seed) on \(engine.rawValue), line \(odd?.offset ?? min(first.count, again.count)):
                \(odd?.element.0 ?? "")
                \(odd?.element.1 ?? "")
                """)
        }
    }

    // The order of dictionaries and sets differs between processes.
    @Test func `one seed gives one history, in any process`() async throws {
        var said: Set<String> = []
        for _ in 0..<2 {
            let result = await #expect(
                processExitsWith: .success, observing: [\.standardOutputContent]
            ) {
                for seed in 0..<8 as Range<UInt64> {
                    print("trail", seed, try await RepeatedHistoryTests.fingerprint(seed, .memory))
                }
            }
            let lines = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self).split(separator: "\n")
            said.formUnion(lines.filter { $0.hasPrefix("trail ") }.map(String.init))
        }
        #expect(said.count == 8, "\(said.sorted())")
    }

    private static func run(_ seed: UInt64, _ engine: Engine) async throws -> Trail {
        let simulation = try await Simulation(seed: seed, engine: engine, keepsAnswers: true)
        do {
            try await simulation.run(Array(0..<SimulationTests.steps))
        } catch {
            simulation.note("\(error)")
        }
        await simulation.world.close()
        return simulation.trail
    }

    static func trail(_ seed: UInt64, _ engine: Engine) async throws -> [String] { try await run(seed, engine).lines }

    static func fingerprint(_ seed: UInt64, _ engine: Engine) async throws -> UInt64 {
        try await run(seed, engine).fingerprint
    }
}
