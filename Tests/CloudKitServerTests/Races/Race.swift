import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Synchronization
import Testing

/// Two processes of one cloud: a slow one is held up before one of its steps, once before each, while the other does something.
struct Race {
    /// Fills the cloud.
    var prepare: (TestCloud) async throws -> Void
    /// The operation of the slow process, which holds the cloud's store under its own schema and caches.
    var slow: (Cloud) async throws -> Void
    /// The actions of the other process.
    var meanwhile: @Sendable (TestCloud) async throws -> Void
    /// Checks the state afterwards.
    var check: (TestCloud) async throws -> Void

    /// Runs the race once for each step of the slow process.
    ///
    /// - Parameter stepsMin: The least number of steps, below which the race would show nothing.
    func run(_ engine: Engine = .memory, stepsMin: Int, limits: Limits = Limits()) async throws {
        var step = 0
        while true {
            var hasInterrupted = false
            try await withCloud(engine, limits: limits) { test in
                try await prepare(test)
                let held = InterruptedStore(test.store, before: step) { [meanwhile] in try await meanwhile(test) }
                try await slow(
                    Cloud(
                        store: held, files: test.files, serverEnvironment: test.time.serverEnvironment, limits: limits))
                hasInterrupted = held.hasInterrupted
                if hasInterrupted { try await check(test) }
            }
            if !hasInterrupted { break }
            step += 1
        }
        #expect(step >= stepsMin)
    }
}

extension TestCloud {
    /// Expects that all rows of Ada's, Bob's and the public database agree with each other, index entries included.
    func expectSoundStore(_ location: SourceLocation = #_sourceLocation) async throws {
        let findings = Mutex<[CheckFinding]>([])
        let partitions: [StoragePartition] = [
            .privateDatabase(Self.container, .development, of: Self.ada),
            .privateDatabase(Self.container, .development, of: Self.bob),
            .publicDatabase(Self.container, .development), .schema(Self.container, .development),
        ]
        let summary = try await CheckStore(restarted()) { finding in findings.withLock { $0.append(finding) } }
            .run(partitions: partitions.map(\.name))
        #expect(summary.rows > 0, sourceLocation: location)
        #expect(findings.withLock(\.self) == [], sourceLocation: location)
    }
}
