import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import IdentityDirectory
import OrderedStore
import PostgresServer
import Synchronization
import Testing

/// Stores of earlier formats, and upgrades of them that are ended at any moment.
@Suite(.timeLimit(.minutes(20))) struct StoreUpgradeTests {
    private static let engines: [Engine] =
        [.memory, .sqlite] + (PostgresServer.missing == nil || StoreUnderTest.isPostgres ? [.postgres] : [])

    /// The upgrade of the sample's rows, one row in each transaction.
    private func upgrade(_ store: any OrderedStore, _ sample: StoreSample) -> UpgradeRows {
        UpgradeRows(store, partitions: sample.partitions, steps: [AddAddressHashes()], rowsAtOnce: 1)
    }

    private func problems(_ test: TestCloud, _ sample: StoreSample) async throws -> [String] {
        let found = Findings()
        _ = try await CheckStore(test.cloud) { found.add($0) }.run(partitions: sample.partitions)
        // The sample has no files.
        return found.all.filter { $0.problem != "the file is missing" }.map { "\($0.place): \($0.problem)" }
    }

    @Test(arguments: engines)
    func `a store of the first format is refused, and upgraded with what it lacks`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let sample = try StoreSample(format: 1)
            try await sample.fill(test.store)
            let upgrade = StoreUpgrade(test.cloud)
            for notesNew in [false, true] {
                let error = await #expect(throws: StoreError.self) {
                    try await upgrade.requireNewest(notesNew: notesNew)
                }
                #expect(error?.code == .olderFormat && error?.remedy.contains("welkin upgrade") == true)
            }
            let lookup = LookupInfo(addressHash: AddressHash.of("ada@example.com"))
            let container = ContainerID("iCloud.com.example.app")
            try await test.cloud.accountStore.accounts.setDiscoverable(true, email: "ada@example.com")
            #expect(try await test.cloud.userDirectory.discoverable(lookup, in: container) == nil)

            let before = try await sample.rows(of: test.store)
            // Some values of the scenario are none that devices make.
            let problemsBefore = try await problems(test, sample)
            let rows = upgrade.rows(partitions: sample.partitions)
            let plan = try await rows.plan()
            #expect(plan.from == .first && plan.to == 2)
            #expect(plan.steps.map(\.rowCount) == [3] && plan.steps.map(\.changeCount) == [3])
            // A plan changes nothing.
            #expect(try await sample.rows(of: test.store) == before)
            let done = try await rows.run()
            #expect(done == plan.steps)
            #expect(try await test.cloud.userDirectory.discoverable(lookup, in: container) != nil)
            try await upgrade.requireNewest(notesNew: false)
            #expect(try await problems(test, sample) == problemsBefore)
            #expect(try await rows.plan().steps.isEmpty)
            #expect(try await rows.run().isEmpty)
        }
    }

    @Test(arguments: engines)
    func `a store of the present format opens as it is`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let sample = try StoreSample(format: Int(StoreUpgrade.newest))
            try await sample.fill(test.store)
            let before = try await sample.rows(of: test.store)
            #expect(before == Set(sample.rows))
            try await StoreUpgrade(test.cloud).requireNewest(notesNew: true)
            #expect(try await StoreUpgrade(test.cloud).rows(partitions: sample.partitions).run().isEmpty)
            #expect(try await sample.rows(of: test.store) == before)
        }
    }

    @Test(arguments: engines)
    func `an upgrade that is ended at any moment goes on where it was and ends in the same store`(
        _ engine: Engine
    ) async throws {
        let sample = try StoreSample(format: 1)
        let whole = MemoryStore()
        try await sample.fill(whole)
        _ = try await upgrade(whole, sample).run()
        let expected = try await sample.rows(of: whole)
        var interruptions = 0
        while true {
            let call = interruptions
            var wasInterrupted = false
            try await withCloud(engine) { test in
                try await sample.fill(test.store)
                let process = InterruptedStore(test.store, before: call) { throw Killed() }
                wasInterrupted = (try? await upgrade(process, sample).run()) == nil
                if wasInterrupted, call > 1 {
                    // No version serves it now: this one goes on, and for an earlier one it is of a later format.
                    let error = await #expect(throws: StoreError.self) {
                        try await StoreUpgrade(test.cloud).requireNewest(notesNew: true)
                    }
                    #expect(error?.reason == "the upgrade of the store was not finished", "call \(call)")
                    let earlier = UpgradeRows(test.store, partitions: sample.partitions, steps: [])
                    let refused = await #expect(throws: StoreError.self) { _ = try await earlier.plan() }
                    #expect(refused?.code == .newerFormat)
                }
                let rest = try await upgrade(test.store, sample).run()
                #expect(wasInterrupted || rest.isEmpty)
                #expect(try await sample.rows(of: test.store) == expected, "call \(call)")
            }
            guard wasInterrupted else { break }
            interruptions += 1
        }
        // Reading the format, beginning, one transaction for each account and one behind them, ending.
        #expect(interruptions == 7)
    }

    private struct Killed: Error {}

    private final class Findings: Sendable {
        private let findings = Mutex<[CheckFinding]>([])

        var all: [CheckFinding] { findings.withLock { $0 } }

        func add(_ finding: CheckFinding) { findings.withLock { $0.append(finding) } }
    }

    @Test func `steps follow one another, and a later version goes on with an upgrade that an earlier one began`()
        async throws
    {
        let sample = try StoreSample(format: 1)
        let partitions = sample.partitions
        for call in 0..<10 {
            let store = MemoryStore()
            try await sample.fill(store)
            let process = InterruptedStore(store, before: call) { throw Killed() }
            _ = try? await UpgradeRows(process, partitions: partitions, steps: [AddAddressHashes()], rowsAtOnce: 1)
                .run()
            let later = UpgradeRows(
                store, partitions: partitions, steps: [MarkAccounts(), AddAddressHashes()], rowsAtOnce: 2)
            _ = try await later.run()
            let found = try await store.read(.rowsFormat) { try await $0.rowsFormat() }
            #expect(found == RowsFormat(number: 3))
            let rows = try await sample.rows(of: store)
            #expect(rows.filter { $0.key.starts(with: Array("address-hash/".utf8)) }.count == 3, "call \(call)")
            #expect(rows.filter { $0.key.starts(with: MarkAccounts.mark) }.count == 3, "call \(call)")
        }
    }

    @Test func `the rows of a later version are refused with what to do`() async throws {
        try await withCloud { test in
            let number = StoreUpgrade.newest + 1
            try await test.store.write([.rowsFormat]) { try $0.set(RowsFormat(number: number)) }
            let error = await #expect(throws: StoreError.self) {
                try await StoreUpgrade(test.cloud).requireNewest(notesNew: true)
            }
            #expect(error?.code == .newerFormat && error?.details["rows"] == String(number))
            #expect(error?.remedy.contains("restore the backup that was taken before the upgrade") == true)
            await #expect(throws: StoreError.self) {
                _ = try await StoreUpgrade(test.cloud).rows(partitions: ["format"]).run()
            }
        }
    }

    @Test func `a new store is noted as one of the newest format, and only where it is served`() async throws {
        try await withCloud { test in
            let upgrade = StoreUpgrade(test.cloud)
            try await upgrade.requireNewest(notesNew: false)
            #expect(try await test.store.read(.rowsFormat) { try await $0.rowsFormat() } == .first)
            try await upgrade.requireNewest(notesNew: true)
            let format = try await test.store.read(.rowsFormat) { try await $0.rowsFormat() }
            #expect(format == RowsFormat(number: StoreUpgrade.newest))
        }
    }

    @Test func `of two processes that upgrade one store one is refused`() async throws {
        let sample = try StoreSample(format: 1)
        let store = MemoryStore()
        try await sample.fill(store)
        let slow = InterruptedStore(store, before: 4) { _ = try await upgrade(store, sample).run() }
        let error = await #expect(throws: StoreError.self) { _ = try await upgrade(slow, sample).run() }
        #expect(error?.code == .busy)
        #expect(try await upgrade(store, sample).plan().steps.isEmpty)
    }
}

/// Adds a row for each account, as a step of a later version may.
private struct MarkAccounts: UpgradeStep {
    let format: UInt32 = 3
    let summary = "marks accounts"
    static let mark = Array("mark/".utf8)

    func applies(to partition: Partition) -> Bool { partition.name == "accounts" }

    func page(from key: Bytes, limit: Int, in view: some Reading) async throws -> UpgradePage {
        let prefix = Array("account/".utf8)
        var range = KeyRange(prefix: prefix)
        if range.contains(key) { range.lower = key }
        let entries = try await view.scan(range, limit: limit)
        return UpgradePage(
            rowCount: entries.count,
            changes: entries.map { .init(key: Self.mark + $0.key.dropFirst(prefix.count), value: [1]) },
            next: entries.count == limit ? entries.last.map { $0.key + [0] } : nil)
    }
}
