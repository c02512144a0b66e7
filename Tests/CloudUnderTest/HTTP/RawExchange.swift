#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Several connections to a local server, driven by one thread: requests are sent immediately, and answers are returned in the
/// order of arrival.
package final class RawExchange {
    package enum Outcome: Hashable, Sendable {
        case answered(status: Int)
        case lost(RawFailure)
    }

    package struct Event: Hashable, Sendable {
        package var connection: Int
        package var outcome: Outcome
    }

    private let connections: [RawConnection]
    private let watcher = SocketWatcher()
    /// The connections that wait until they can send on.
    private var sending: Set<Int> = []
    private var pending: [Event] = []
    private var firstPending = 0

    package convenience init(port: UInt16, connections count: Int) throws(RawFailure) {
        try self.init(ports: [port], connections: count)
    }

    /// Connects to several servers in turn: the first connection to the first one, the next to the next.
    package init(ports: [UInt16], connections count: Int) throws(RawFailure) {
        // A killed peer has to be an error of `write` and not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        var connections: [RawConnection] = []
        for index in 0..<count { connections.append(try RawConnection(port: ports[index % ports.count])) }
        self.connections = connections
        watchAll()
    }

    private func watchAll() {
        sending = []
        for (index, connection) in connections.enumerated() { watcher.add(connection.socket, index: index) }
    }

    package var connectionCount: Int { connections.count }

    /// Reconnects all connections, possibly to another port; discards requests in flight.
    package func reconnect(port: UInt16) throws(RawFailure) {
        pending = []
        firstPending = 0
        for connection in connections { try connection.connect(port: port) }
        watchAll()
    }

    /// Starts a request on an idle connection.
    package func send(_ request: RawRequest, on connection: Int) {
        guard connections[connection].socket >= 0 else {
            pending.append(Event(connection: connection, outcome: .lost(.connectionLost)))
            return
        }
        if case .lost(let failure) = connections[connection].send(request) {
            pending.append(Event(connection: connection, outcome: .lost(failure)))
        }
        watchSending(connection)
    }

    /// Waits for the possibility to send as long as a connection has something to send.
    private func watchSending(_ index: Int) {
        let connection = connections[index]
        let wants = connection.socket >= 0 && connection.wantsToWrite
        guard wants != sending.contains(index) else { return }
        if wants { sending.insert(index) } else { sending.remove(index) }
        if connection.socket >= 0 { watcher.change(connection.socket, index: index, sends: wants) }
    }

    /// The number of connections that await an answer.
    package var awaited: Int { connections.count(where: \.isBusy) + pending.count - firstPending }

    /// Returns the body of the connection's latest answer; valid until its next request.
    package func body(of connection: Int) -> [UInt8] { connections[connection].body }

    /// Returns the next event, or nil at the deadline.
    package func next(until deadline: Moment) -> Event? {
        while true {
            if firstPending < pending.count {
                defer { firstPending += 1 }
                return pending[firstPending]
            }
            pending.removeAll(keepingCapacity: true)
            firstPending = 0
            guard wait(until: deadline) else { return nil }
        }
    }

    /// Sends one request on the first connection and waits for its answer.
    package func ask(_ request: RawRequest, timeout seconds: Double = 300) throws(RawFailure) -> RawResponse {
        send(request, on: 0)
        guard let event = next(until: .now.advanced(bySeconds: seconds)) else { throw .timedOut }
        switch event.outcome {
        case .answered(let status): return RawResponse(status: status, body: body(of: event.connection))
        case .lost(let failure): throw failure
        }
    }

    /// Waits until a socket is ready and advances it; returns false at the deadline.
    private func wait(until deadline: Moment) -> Bool {
        let left = deadline.nanoseconds - Moment.now.nanoseconds
        guard left > 0 else { return false }
        let ready = watcher.wait(milliseconds: Int32(min(left / 1_000_000 + 1, 60_000)))
        if ready.isEmpty { return Moment.now < deadline }
        for index in ready {
            guard connections[index].isBusy else {
                // The server has ended an idle connection, which the next request notices.
                connections[index].disconnect()
                continue
            }
            switch connections[index].advance() {
            case .waiting: break
            case .answered(let status):
                pending.append(Event(connection: index, outcome: .answered(status: status)))
            case .lost(let failure): pending.append(Event(connection: index, outcome: .lost(failure)))
            }
            watchSending(index)
        }
        return true
    }
}

/// An instant of the monotonic clock.
package struct Moment: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package func advanced(bySeconds seconds: Double) -> Moment {
        Moment(nanoseconds: nanoseconds + Int64(seconds * 1e9))
    }

    package func seconds(since other: Moment) -> Double { Double(nanoseconds - other.nanoseconds) / 1e9 }

    package static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }
}
