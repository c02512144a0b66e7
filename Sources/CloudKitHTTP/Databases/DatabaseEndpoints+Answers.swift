import CloudKitServer

/// The bytes that are reserved for an answer before it is made.
struct AnswerEstimate {
    var bytes: Int
    var kind = AnswerKind.fetch

    /// An answer with so many records of unknown size.
    static func records(_ count: Int, _ limits: Limits) -> Self {
        Self(bytes: min(count * limits.recordBytesMax, page(limits).bytes))
    }

    /// An answer that ends when it is full: its records, and its printed form.
    static func page(_ limits: Limits) -> Self {
        Self(bytes: 2 * (limits.answerBytesMax + limits.recordBytesMax))
    }

    /// The answer to a batch of saves: about what the request has. Whole records beside a few changed fields count once they are known.
    static func saves(of bodyBytes: Int) -> Self { Self(bytes: 2 * bodyBytes, kind: .save) }
}

extension DatabaseEndpoints {
    /// Makes an answer within the budget of all answers, and a fetch within what saves leave of the processors.
    ///
    /// - Throws: `tryAgainLater` when there is no space, and what `answer` throws.
    func bounded(
        _ estimate: AnswerEstimate, for call: DatabaseCall, _ answer: () async throws -> EndpointResponse
    ) async throws -> EndpointResponse {
        switch estimate.kind {
        case .fetch: try await fetches.fetch(for: call.sender) { try await reserved(estimate, for: call, answer) }
        case .save: try await fetches.save { try await reserved(estimate, for: call, answer) }
        }
    }

    private func reserved(
        _ estimate: AnswerEstimate, for call: DatabaseCall, _ answer: () async throws -> EndpointResponse
    ) async throws -> EndpointResponse {
        let reservation = try await answers.reserve(estimate.bytes, for: call.sender, estimate.kind)
        var response = try await answer()
        if case .bytes(let bytes) = response.body { reservation.resize(to: bytes.count) }
        response.reservation = reservation
        return response
    }
}
