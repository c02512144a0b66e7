import CloudKitModel
import CloudKitRecordLayer
import Synchronization
import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct NodesTests {
    private static let push = SharedWork.push.rawValue

    /// Lines that tasks write.
    private final class Log: Sendable {
        private let held = Mutex<[String]>([])
        var lines: [String] { held.withLock { $0 } }
        func add(_ line: String) { held.withLock { $0.append(line) } }
    }

    @Test func `one of two nodes has a lease, whatever their clocks say, and gives it back when it leaves`()
        async throws
    {
        let nodes = TwoNodes()
        let (first, second) = (nodes.first.cloud.nodes, nodes.second.cloud.nodes)
        first.want(Self.push)
        second.want(Self.push)
        #expect(!first.holds(.push))
        for _ in 0..<10 {
            try await first.beat()
            try await second.beat()
            #expect(first.holds(.push) && !second.holds(.push))
            nodes.advance(1_000)
        }
        #expect(first.count == 2 && second.count == 2)
        try await first.leave()
        #expect(!first.holds(.push) && first.count == 1)
        try await second.beat()
        #expect(second.holds(.push) && second.count == 1)
    }

    @Test func `a node knows how far its clock is from those of the others`() async throws {
        let nodes = TwoNodes()
        let (first, second) = (nodes.first.cloud, nodes.second.cloud)
        let clocks = ClockCheck(store: first.store, serverEnvironment: first.serverEnvironment)
        #expect(try await clocks.difference() == 0)
        for _ in 0..<2 {
            try await first.nodes.beat()
            try await second.nodes.beat()
        }
        #expect(second.nodes.clockDifference == -3_600_000)
        try await first.nodes.beat()
        #expect(first.nodes.clockDifference == 3_600_000)
        // One that is not yet among them; a node that died, but whose row is still there, is not asked.
        #expect(try await clocks.difference() == 0)
        nodes.first.time.sleep { _ in try await second.nodes.beat() }
        #expect(try await clocks.difference() == 3_600_000)
    }

    @Test func `the probe of a store writes, and its row is one that a check knows`() async throws {
        let nodes = TwoNodes()
        let cloud = nodes.first.cloud
        let probe = WriteProbe(store: cloud.store, serverEnvironment: cloud.serverEnvironment)
        for _ in 0..<2 { #expect(await probe.run() == .written) }
        let rows = try await nodes.first.store.read(.nodes) { try await ProbeRow.table.rows(in: $0) }
        #expect(rows.map(\.text.count) == [16_384])
        #expect(NodeTable.isRow(Array("probe/write".utf8), try rows[0].rowBytes()))
        #expect(!NodeTable.isRow(Array("other/write".utf8), try rows[0].rowBytes()))
    }

    @Test func `a dead node's lease is taken over within seconds, not before it has let go itself`() async throws {
        let nodes = TwoNodes()
        let (first, second) = (nodes.first.cloud.nodes, nodes.second.cloud.nodes)
        first.want(Self.push)
        second.want(Self.push)
        try await first.beat()
        let term = try #require(first.term(of: Self.push))
        var seconds = 0
        while !second.holds(.push) {
            try await second.beat()
            #expect(!(first.holds(.push) && second.holds(.push)))
            nodes.advance(1_000)
            seconds += 1
        }
        #expect(seconds <= 7)
        // The former owner is stopped where it writes, and enters again as another node without leases.
        let failure = await failure {
            try await nodes.first.store.write([.registry, .nodes]) { try await term.check($0) }
        }
        #expect(failure?.code == .tryAgainLater)
        let present = try #require(second.term(of: Self.push))
        try await nodes.first.store.write([.registry, .nodes]) { try await present.check($0) }
        try await first.beat()
        #expect(!first.holds(.push) && second.holds(.push))
        #expect(first.count == 2)
    }

    @Test func `work is cancelled when its lease ends, and begun by the other node`() async throws {
        let nodes = TwoNodes()
        let log = Log()
        func worker(_ cloud: TestCloud, _ name: String) -> Task<Void, Never> {
            Task {
                await cloud.cloud.nodes.run(.outbox) {
                    log.add("\(name) begins")
                    while (try? await Task.sleep(for: .milliseconds(1))) != nil {}
                    log.add("\(name) ends")
                }
            }
        }
        func until(_ count: Int) async throws {
            while log.lines.count < count { try await Task.sleep(for: .milliseconds(1)) }
        }
        let work = [worker(nodes.first, "first"), worker(nodes.second, "second")]
        defer { for task in work { task.cancel() } }
        while nodes.first.cloud.nodes.term(of: "outbox") == nil {
            try await Task.sleep(for: .milliseconds(1))
            try await nodes.first.cloud.nodes.beat()
        }
        try await until(1)
        try await nodes.second.cloud.nodes.beat()
        // The first gives no sign of life any more.
        nodes.advance(5_000)
        try await until(2)
        try await nodes.second.cloud.nodes.beat()
        try await until(3)
        #expect(log.lines == ["first begins", "first ends", "second begins"])
    }

    @Test func `where one process serves the store all work is its own, and the store has no rows of it`() async throws
    {
        try await withCloud { cloud in
            #expect(cloud.cloud.nodes.holds(.push) && cloud.cloud.nodes.count == 1)
            let done = try await cloud.cloud.nodes.exclusively("index/c/development") { $0 == nil }
            #expect(done)
            let rows = try await cloud.store.read(.nodes) { try await NodeTable($0) }
            #expect(rows == NodeTable())
        }
    }

    @Test func `B-SCH-07 an index that a dead node was building is built by another`() async throws {
        let nodes = TwoNodes()
        let (first, second) = (nodes.first, nodes.second)
        let field = "RECORD TYPE Note ( a STRING QUERYABLE );"
        try await ImportSchema(first.cloud).run("DEFINE SCHEMA \(field)", in: TestCloud.container)
        try await first.modify([create("R", "Note", text("a", "x"))], zone: "_defaultZone")
        let sorted = "DEFINE SCHEMA RECORD TYPE Note ( a STRING QUERYABLE SORTABLE );"
        try await ImportSchema(first.cloud).run(sorted, in: TestCloud.container, waits: false)
        // The first has taken the lease of the build and dies.
        let lease = "index/\(TestCloud.container.name)/development"
        first.cloud.nodes.want(lease)
        try await first.cloud.nodes.beat()
        #expect(first.cloud.nodes.term(of: lease) != nil)
        try await second.cloud.nodes.beat()
        try await FinishIndexBuilds(second.cloud).runAbandoned()
        let place = (TestCloud.container, CloudKitModel.Environment.development)
        #expect(try await second.cloud.schema(place.0, place.1)["Note"]?.fields["a"]?.building == .sortable)
        nodes.advance(5_000)
        try await second.cloud.nodes.beat()
        try await FinishIndexBuilds(second.cloud).runAbandoned()
        #expect(try await second.cloud.schema(place.0, place.1)["Note"]?.fields["a"]?.building == [])
        let rows = try await second.store.read(.nodes) { try await NodeTable($0) }
        #expect(rows.leases.isEmpty)
    }

    @Test func `rows of nodes pass the check of the store`() async throws {
        let nodes = TwoNodes()
        nodes.first.cloud.nodes.want(Self.push)
        try await nodes.first.cloud.nodes.beat()
        try await nodes.first.store.read(.nodes) { view in
            for table in ["node/", "lease/"] {
                let rows = try await view.scan(StorageKeyRange(prefix: Array(table.utf8)), limit: .max)
                #expect(rows.count == 1)
                for entry in rows {
                    #expect(try await OwnRows(.nodes, view).findings(entry.key, entry.value).isEmpty)
                }
            }
            #expect(try await !OwnRows(.nodes, view).findings(Array("lease/x".utf8), [1]).isEmpty)
        }
    }
}
