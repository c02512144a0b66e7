import CloudKitModel
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct ZoneFailurePolicyTests {
    private let ofZone = CallFailure.refused(RequestFailure(.zoneNotFound, "no zone"))
    private let ofRequest = CallFailure.refused(RequestFailure(.badRequest, "not understood"))

    @Test func `B-BAT-01 after a failure of one zone, failures of other requests are those of their items`() throws {
        var policy = ZoneFailurePolicy()
        #expect(try policy.failed(ofZone) == ofZone)
        #expect(try policy.failed(ofRequest) == ofRequest)
        #expect(policy.end == nil)
    }

    @Test func `a first failure that concerns no zone ends the operation, and so does cancellation`() throws {
        var policy = ZoneFailurePolicy()
        #expect(throws: ofRequest) { try policy.failed(ofRequest) }
        policy.answered()
        #expect(try policy.failed(ofRequest) == ofRequest)
        #expect(throws: CallFailure.cancelled) { try policy.failed(.cancelled) }
    }

    @Test func `after a failure of the connection no further request is sent`() throws {
        var policy = ZoneFailurePolicy()
        policy.answered()
        _ = try policy.failed(.transport(.connectionLost))
        #expect(policy.end == .transport(.connectionLost))
    }
}
