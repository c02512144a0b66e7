import CloudKitModel
import Logging
import Testing

@testable import CloudKitHTTP

/// The lines that orders of operators leave in the log.
@Suite(.timeLimit(.minutes(20))) struct OperatorLogTests {
    @Test func `an order is a line in the log, whether it was carried out or failed`() async throws {
        let lines = CapturedLog()
        let log = OperatorLog(logger: Logger(label: "test") { _ in lines.handler }, log: nil, now: { 0 })
        #expect(try await log.report("zones/purge", by: "op1", in: nil, details: ["zone": "Z"]) { 7 } == 7)
        await #expect(throws: RequestFailure.self) {
            try await log.report("zones/purge", by: "op1", in: nil) {
                throw RequestFailure(.zoneNotFound, "no zone")
            }
        }
        #expect(lines.lines.map(\.message) == ["operator's order", "operator's order"])
        #expect(lines.lines.map { $0.metadata["outcome"] } == ["done", "zoneNotFound"])
        #expect(lines.lines.allSatisfy { $0.metadata["order"] == "zones/purge" && $0.metadata["operator"] == "op1" })
        #expect(lines.lines.map { $0.metadata["zone"] } == ["Z", nil])
    }
}
