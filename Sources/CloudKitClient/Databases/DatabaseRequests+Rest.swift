import CloudKitModel

extension DatabaseRequests {
    /// Fetches items that may not fit into one answer: what was left out is requested again, as long as every answer has some of it.
    ///
    /// - Parameters:
    ///   - count: The number of items.
    ///   - fetch: Requests the items at these positions and returns as many outcomes, in their order.
    ///   - isLeftOut: Whether an outcome says that the item did not fit.
    /// - Returns: The outcomes of all items, in their order.
    func fetchingRest<Outcome>(
        _ count: Int, fetch: ([Int]) async throws -> [Outcome], isLeftOut: (Outcome) -> Bool
    ) async throws -> [Outcome] {
        var outcomes = try await fetch(Array(0..<count))
        var rest = outcomes.indices.filter { isLeftOut(outcomes[$0]) }
        var previousCount = count
        while !rest.isEmpty, rest.count < previousCount {
            try Task.checkCancellation()
            previousCount = rest.count
            for (position, outcome) in zip(rest, try await fetch(rest)) { outcomes[position] = outcome }
            rest = rest.filter { isLeftOut(outcomes[$0]) }
        }
        return outcomes
    }
}

extension RequestFailure {
    /// Whether an item was left out because the answer is full: it may be fetched again at once.
    var isAnswerFull: Bool { code == .tryAgainLater && retryAfter == 0 }
}
