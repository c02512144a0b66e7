import CloudUnderTest

/// A load that keeps every connection busy with consecutive requests.
struct Load {
    var requests = 0
    var seconds = 0.0

    var rate: Double { Double(requests) / seconds }

    /// Sends requests until the time is over or `next` returns nil, and waits for the answers.
    ///
    /// - Parameter next: Returns the next request for a connection.
    /// - Throws: `BenchError` for the first failed answer; only every hundredth answer is checked for item errors, so that
    ///   checking does not affect the measurement.
    static func run(
        _ exchange: RawExchange, seconds: Double = .infinity,
        next: (Int) -> RawRequest?
    ) throws -> Load {
        var load = Load()
        let start = Moment.now
        let end = seconds.isFinite ? start.advanced(bySeconds: seconds) : start.advanced(bySeconds: 3600)
        for index in 0..<exchange.connectionCount {
            guard let request = next(index) else { break }
            exchange.send(request, on: index)
        }
        while exchange.awaited > 0 {
            guard let event = exchange.next(until: end.advanced(bySeconds: 60)) else {
                throw BenchError("the server does not answer")
            }
            try load.count(event, of: exchange)
            if Moment.now < end, let request = next(event.connection) {
                exchange.send(request, on: event.connection)
            }
        }
        load.seconds = Moment.now.seconds(since: start)
        return load
    }

    /// Sends requests at a steady rate, over connections in rotation, and waits for the answers. One that is due while all connections wait is sent
    /// when the first of them is answered.
    static func run(
        _ exchange: RawExchange, requests count: Int, perSecond rate: Double, next: (Int) -> RawRequest
    ) throws -> Load {
        var load = Load()
        var idle = Array(0..<exchange.connectionCount)
        var sent = 0
        let start = Moment.now
        while load.requests < count {
            let due = start.advanced(bySeconds: Double(sent) / rate)
            let maySend = sent < count && !idle.isEmpty
            if maySend, due <= Moment.now {
                let connection = idle.removeFirst()
                exchange.send(next(connection), on: connection)
                sent += 1
                continue
            }
            guard let event = exchange.next(until: maySend ? due : Moment.now.advanced(bySeconds: 60)) else {
                if maySend { continue }
                throw BenchError("the server does not answer")
            }
            try load.count(event, of: exchange)
            idle.append(event.connection)
        }
        load.seconds = Moment.now.seconds(since: start)
        return load
    }

    private mutating func count(_ event: RawExchange.Event, of exchange: RawExchange) throws {
        guard event.outcome == .answered(status: 200) else {
            throw BenchError("a request failed: \(event.outcome) \(Self.text(exchange.body(of: event.connection)))")
        }
        requests += 1
        guard requests % 100 == 1 else { return }
        let body = Self.text(exchange.body(of: event.connection))
        guard !body.contains("serverErrorCode") else { throw BenchError("an item failed: \(body.prefix(500))") }
    }

    private static func text(_ body: [UInt8]) -> String { String(decoding: body, as: UTF8.self) }
}
