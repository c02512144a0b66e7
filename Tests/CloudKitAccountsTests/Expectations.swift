import CloudKitModel
import Testing

/// Returns the failure that `body` throws.
func failure(_ body: () async throws -> Void) async -> RequestFailure? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RequestFailure
    }
}

/// Expects `body` to fail as a whole.
func expect(
    _ code: RequestFailure.Code, at location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    let failure = await failure(body)
    #expect(failure?.code == code, sourceLocation: location)
}
