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
            guard event.outcome == .answered(status: 200) else {
                throw BenchError("a request failed: \(event.outcome) \(text(exchange.body(of: event.connection)))")
            }
            load.requests += 1
            if load.requests % 100 == 1 {
                let body = text(exchange.body(of: event.connection))
                guard !body.contains("serverErrorCode") else { throw BenchError("an item failed: \(body.prefix(500))") }
            }
            if Moment.now < end, let request = next(event.connection) {
                exchange.send(request, on: event.connection)
            }
        }
        load.seconds = Moment.now.seconds(since: start)
        return load
    }

    private static func text(_ body: [UInt8]) -> String { String(decoding: body, as: UTF8.self) }
}
