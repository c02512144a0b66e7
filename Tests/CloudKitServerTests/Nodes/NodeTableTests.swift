import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct NodeTableTests {
    private static let push = SharedWork.push.rawValue

    @Test func `the first node takes the leases it wants, a second one what is left`() {
        var table = NodeTable()
        let entered = [
            table.beat("a", isNew: true, wanted: [Self.push], dead: []),
            table.beat("b", isNew: true, wanted: [Self.push, "outbox"], dead: []),
        ]
        #expect(entered == [true, true])
        #expect(table.nodes == ["a": NodeRow(beat: 1), "b": NodeRow(beat: 1)])
        #expect(table.leases[Self.push] == LeaseRow(owner: "a", fence: 1))
        #expect(table.leases["outbox"] == LeaseRow(owner: "b", fence: 1))
        // Signs of life change nothing but their number.
        let isAlive = table.beat("a", isNew: false, wanted: [Self.push], dead: [])
        #expect(isAlive)
        #expect(table.nodes["a"] == NodeRow(beat: 2))
        #expect(table.leases[Self.push] == LeaseRow(owner: "a", fence: 1))
    }

    @Test func `clocks are compared by signs of life that were seen to be given, those of a silent node never`() {
        var observations = NodeObservations()
        let silent = NodeRow(beat: 9, clock: 0)
        observations.note(["b": NodeRow(beat: 1, clock: 5_000), "c": silent], at: .zero, clock: 1_000_000)
        #expect(observations.clockDifference(to: "a") == 0)
        #expect(!observations.haveAllShownTheirClock)
        observations.note(["b": NodeRow(beat: 2, clock: 940_000), "c": silent], at: .seconds(1), clock: 1_001_000)
        #expect(observations.clockDifference(to: "a") == -61_000)
        #expect(observations.clockDifference(to: "b") == 0)
        observations.note(["c": NodeRow(beat: 10, clock: 1_002_500)], at: .seconds(2), clock: 1_002_000)
        #expect(observations.clockDifference(to: "a") == 500)
        #expect(observations.haveAllShownTheirClock)
        // A node of an earlier version does not tell its clock, and no number stops the cloud.
        observations.note(["c": NodeRow(beat: 11)], at: .seconds(3), clock: 1_003_000)
        #expect(observations.clockDifference(to: "a") == 0)
        observations.note(["c": NodeRow(beat: 12, clock: .min)], at: .seconds(4), clock: .max)
        #expect(observations.clockDifference(to: "a") == 1)
    }

    @Test func `the leases of a dead node are taken with a higher counter, and it is told when it comes back`() {
        var table = NodeTable()
        _ = table.beat("a", isNew: true, wanted: [Self.push], dead: [])
        _ = table.beat("b", isNew: true, wanted: [Self.push], dead: ["a"])
        #expect(table.nodes["a"] == nil)
        #expect(table.leases[Self.push] == LeaseRow(owner: "b", fence: 2))
        let before = table
        let isAlive = table.beat("a", isNew: false, wanted: [Self.push], dead: [])
        #expect(!isAlive)
        #expect(table == before)
    }

    @Test func `a node that leaves, or no longer wants a lease, gives it back`() {
        var table = NodeTable()
        _ = table.beat("a", isNew: true, wanted: [Self.push, "outbox"], dead: [])
        _ = table.beat("a", isNew: false, wanted: ["outbox"], dead: [])
        #expect(table.leases[Self.push] == LeaseRow(owner: nil, fence: 1))
        table.leave("a")
        #expect(table.nodes.isEmpty && table.leases["outbox"] == LeaseRow(owner: nil, fence: 1))
        _ = table.beat("b", isNew: true, wanted: [Self.push], dead: [])
        #expect(table.leases[Self.push] == LeaseRow(owner: "b", fence: 2))
    }

    @Test func `a piece of work whose node died is abandoned until it is taken, and gone once it is done`() {
        var table = NodeTable()
        _ = table.beat("a", isNew: true, wanted: ["index/c/development", Self.push], dead: [])
        #expect(table.abandoned.isEmpty)
        _ = table.beat("b", isNew: true, wanted: [], dead: ["a"])
        #expect(table.abandoned == ["index/c/development"])
        _ = table.beat("b", isNew: false, wanted: ["index/c/development"], dead: [])
        #expect(table.abandoned.isEmpty)
        #expect(table.leases["index/c/development"] == LeaseRow(owner: "b", fence: 2))
        _ = table.beat("b", isNew: false, wanted: [], dead: [])
        #expect(table.leases["index/c/development"] == nil)
    }

    @Test func `a node counts as dead when its number stands still for five seconds of the observer's clock`() {
        var seen = NodeObservations()
        let nodes = ["a": NodeRow(beat: 7)]
        #expect(seen.dead(among: nodes, at: .seconds(1000)).isEmpty)
        seen.note(nodes, at: .seconds(1000))
        seen.note(nodes, at: .seconds(1004))
        #expect(seen.dead(among: nodes, at: .milliseconds(1_004_999)).isEmpty)
        #expect(seen.dead(among: nodes, at: .seconds(1005)) == ["a"])
        // It has given a sign meanwhile, which this transaction is the first to see.
        #expect(seen.dead(among: ["a": NodeRow(beat: 8)], at: .seconds(1005)).isEmpty)
        seen.note(["a": NodeRow(beat: 8)], at: .seconds(1005))
        #expect(seen.dead(among: ["a": NodeRow(beat: 8)], at: .seconds(1009)).isEmpty)
    }
}
