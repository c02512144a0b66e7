import NIOCore
import Testing

@testable import CloudKitHTTP

/// The rules for connections, without sockets.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTableTests {
    private typealias Table = ConnectionTable<Int>

    private let start = ContinuousClock.now

    private func table(max: Int, perAddress: Int? = nil, isBehindProxy: Bool = false) -> Table {
        Table(
            limits: ConnectionLimits(connectionsMax: max, connectionsPerAddressMax: perAddress ?? max),
            rate: MinimumTransferRate(bytesMin: 100, interval: .seconds(10)), isBehindProxy: isBehindProxy)
    }

    private func address(_ text: String) throws -> RemoteAddress {
        try #require(RemoteAddress(try SocketAddress(ipAddress: text, port: 1)))
    }

    @Test func `when all are taken, the connection that waits longest yields to a newcomer`() {
        var table = table(max: 3)
        for id in 1...3 { #expect(table.admit(id, from: nil, at: start) == .accepted) }
        table.requestBegan(1, at: start)
        #expect(table.admit(4, from: nil, at: start) == .acceptedInPlace(of: 2))
        table.requestEnded(1, leavesBody: false, at: start)
        #expect(table.admit(5, from: nil, at: start) == .acceptedInPlace(of: 3))
        #expect(table.admit(6, from: nil, at: start) == .acceptedInPlace(of: 4))
        #expect(table.admit(7, from: nil, at: start) == .acceptedInPlace(of: 1))
    }

    @Test func `many requests of one connection do not change which one has waited longest`() {
        var table = table(max: 2)
        for id in 1...2 { #expect(table.admit(id, from: nil, at: start) == .accepted) }
        #expect(table.admit(3, from: nil, at: start) == .acceptedInPlace(of: 1))
        for _ in 0..<200 {
            table.requestBegan(2, at: start)
            table.requestEnded(2, leavesBody: false, at: start)
        }
        #expect(table.waitingCount <= 100)
        #expect(table.admit(4, from: nil, at: start) == .acceptedInPlace(of: 3))
    }

    @Test func `requests under way are not interrupted; newcomers are refused`() {
        var table = table(max: 2)
        for id in 1...2 {
            #expect(table.admit(id, from: nil, at: start) == .accepted)
            table.requestBegan(id, at: start)
        }
        #expect(table.admit(3, from: nil, at: start) == .refused(.full))
        table.requestEnded(2, leavesBody: true, at: start)
        #expect(table.admit(4, from: nil, at: start) == .acceptedInPlace(of: 2))
    }

    @Test func `connections that are still being closed count, and hold up further ones`() {
        var table = table(max: 2)
        var id = 0
        while table.canAccept {
            id += 1
            _ = table.admit(id, from: nil, at: start)
        }
        #expect(table.count == id)
        #expect(id == 2 + 16)
        table.closed(1)
        #expect(table.canAccept)
        #expect(table.count == id - 1)
    }

    @Test func `an address has a share, and so has a network of IPv6`() throws {
        var table = table(max: 100, perAddress: 2)
        let refused = Table.Admission.refused(.address)
        let first = try address("203.0.113.1")
        #expect(table.admit(1, from: first, at: start) == .accepted)
        #expect(table.admit(2, from: try address("::ffff:203.0.113.1"), at: start) == .accepted)
        #expect(table.admit(3, from: first, at: start) == refused)
        #expect(table.admit(4, from: try address("203.0.113.2"), at: start) == .accepted)
        for (id, text) in [(5, "2001:db8::1"), (6, "2001:db8::ffff:2")] {
            #expect(table.admit(id, from: try address(text), at: start) == .accepted)
        }
        #expect(table.admit(7, from: try address("2001:db8:0:0:1::"), at: start) == refused)
        #expect(table.admit(8, from: try address("2001:db8:0:1::1"), at: start) == .accepted)
        table.closed(1)
        #expect(table.admit(9, from: first, at: start) == .accepted)
    }

    @Test func `this machine and a declared proxy have no share`() throws {
        var direct = table(max: 100, perAddress: 1)
        for (id, text) in ["127.0.0.1", "127.0.0.1", "::1", "::1", "::ffff:127.0.0.1"].enumerated() {
            #expect(direct.admit(id, from: try address(text), at: start) == .accepted)
        }
        var proxied = table(max: 100, perAddress: 1, isBehindProxy: true)
        for id in 0..<5 { #expect(proxied.admit(id, from: try address("203.0.113.1"), at: start) == .accepted) }
    }

    @Test func `a first request comes within 30 seconds, a further one within 120, and a discarded body ends within 5`()
    {
        var table = table(max: 10)
        for id in 1...3 { #expect(table.admit(id, from: nil, at: start) == .accepted) }
        table.requestBegan(1, at: start)
        table.requestEnded(1, leavesBody: false, at: start)
        table.requestBegan(2, at: start)
        table.requestEnded(2, leavesBody: true, at: start)
        #expect(table.overdue(at: start + .seconds(4)) == [])
        #expect(Set(table.overdue(at: start + .seconds(5))) == [.rest(1), .close(2)])
        #expect(table.overdue(at: start + .seconds(29)) == [])
        #expect(table.overdue(at: start + .seconds(30)) == [.close(3)])
        #expect(table.overdue(at: start + .seconds(119)) == [])
        #expect(table.overdue(at: start + .seconds(120)) == [.close(1)])
        #expect(table.overdue(at: start + .seconds(300)) == [])
    }

    @Test func `a connection rests once after each request that none follows`() {
        var table = table(max: 10)
        #expect(table.admit(1, from: nil, at: start) == .accepted)
        for second in [0, 60] {
            table.requestBegan(1, at: start + .seconds(second))
            #expect(table.overdue(at: start + .seconds(second + 5)) == [])
            table.requestEnded(1, leavesBody: false, at: start + .seconds(second + 6))
            #expect(table.overdue(at: start + .seconds(second + 10)) == [])
            #expect(table.overdue(at: start + .seconds(second + 11)) == [.rest(1)])
            #expect(table.overdue(at: start + .seconds(second + 12)) == [])
        }
    }

    @Test func `a body has to arrive at the minimum rate while it is read`() {
        var table = table(max: 10)
        for id in 1...3 {
            #expect(table.admit(id, from: nil, at: start) == .accepted)
            table.requestBegan(id, at: start)
        }
        table.bodyBegan(1, at: start)
        table.bodyBegan(2, at: start)
        table.bodyReceived(1, bytes: 99)
        table.bodyReceived(2, bytes: 100)
        #expect(table.overdue(at: start + .seconds(9)) == [])
        #expect(table.overdue(at: start + .seconds(10)) == [.slowBody(1)])
        table.bodyEnded(2)
        #expect(table.overdue(at: start + .seconds(100)) == [])
    }

    @Test func `an answer in pieces has to be taken at its rate, from before its head`() {
        var table = table(max: 10)
        for id in 1...3 {
            #expect(table.admit(id, from: nil, at: start) == .accepted)
            table.requestBegan(id, at: start)
        }
        for id in 1...3 { table.answerBegan(id, bytesMin: 50, at: start) }
        table.answerSent(2, bytes: 50)
        table.requestEnded(3, leavesBody: false, at: start)
        #expect(table.overdue(at: start + .seconds(9)) == [.rest(3)])
        #expect(table.overdue(at: start + .seconds(10)) == [.close(1)])
        // The bytes of one interval do not count for the next.
        table.answerSent(2, bytes: 49)
        #expect(table.overdue(at: start + .seconds(20)) == [.close(2)])
        #expect(table.overdue(at: start + .seconds(100)) == [])
    }

    @Test func `a long life of requests does not make the list of those that wait grow`() {
        var table = table(max: 3)
        for id in 1...3 { _ = table.admit(id, from: nil, at: start) }
        for _ in 0..<10_000 {
            table.requestBegan(2, at: start)
            table.requestEnded(2, leavesBody: false, at: start)
        }
        #expect(table.waitingCount < 100)
        #expect(table.admit(4, from: nil, at: start) == .acceptedInPlace(of: 1))
    }

    @Test func `limits leave descriptors for store and files`() throws {
        let small = try #require(ConnectionLimits(descriptors: 160))
        #expect(small.connectionsMax == 60)
        #expect(small.connectionsPerAddressMax == 15)
        #expect(small.connectionsMax + small.filesMax == 80)
        #expect(ConnectionLimits(descriptors: 1_048_576)?.connectionsMax == 65_536)
        #expect(ConnectionLimits(descriptors: 160, connectionsMax: 80) == nil)
        #expect(ConnectionLimits(descriptors: 64) == nil)
    }

    @Test func `refused connections are logged once a minute`() {
        let log = CapturedLog()
        let clock = ManualClock(start)
        let refused = RefusedConnections(
            metrics: RequestMetrics(), logger: .init(label: "test") { _ in log.handler }, now: { clock.now })
        for _ in 0..<5 { refused.record(.full) }
        clock.advance(by: .seconds(59))
        refused.record(.address)
        #expect(log.lines.count == 1)
        clock.advance(by: .seconds(1))
        refused.record(.address)
        #expect(log.lines.map { $0.metadata["closed"] } == ["1", "6"])
    }
}
