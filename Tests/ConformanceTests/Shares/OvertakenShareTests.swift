import CloudKit
import CloudKitClient
import Foundation
import Synchronization
import Testing

/// Answers about a share that come after newer ones, as when an app asks several times at once: the device looks again before it says that
/// the cloud went back in time.
@Suite(.timeLimit(.minutes(20))) struct OvertakenShareTests {
    /// Gives answers of a test to look-ups of records, and remembers the last one of the cloud.
    private final class LookupAnswers: Transport {
        private enum Step {
            case last
            case failure(TransportFailure)
        }

        private let state = Mutex((steps: [Step](), kept: TransportResponse?.none))

        /// Lets the next look-up have the answer that was kept.
        func repeatKept() { state.withLock { $0.steps.append(.last) } }

        /// Lets a look-up fail.
        func fail(_ failure: TransportFailure) { state.withLock { $0.steps.append(.failure(failure)) } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard request.url.path.hasSuffix("records/lookup") else {
                return try await HTTPTransport.shared.send(request)
            }
            let (step, kept) = state.withLock { ($0.steps.isEmpty ? nil : $0.steps.removeFirst(), $0.kept) }
            switch step {
            case .last: if let kept { return kept }
            case .failure(let failure): throw failure
            case nil: break
            }
            let answer = try await HTTPTransport.shared.send(request)
            state.withLock { if $0.kept == nil { $0.kept = answer } }
            return answer
        }
    }

    /// Runs a body with a device of Ada's that holds an answer from before a participant was removed, and has seen a later one.
    private func withEarlierAnswer(
        _ body: (SharingHousehold, CKDatabase, LookupAnswers, CKShare) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            let answers = LookupAnswers()
            // Its profile goes with it.
            let device = try await home.device(of: "ada", over: answers)
            defer { withExtendedLifetime(device) {} }
            let database = device.container.privateCloudDatabase
            _ = try await database.record(for: share.recordID)
            try await home.remove("ben", from: share.recordID, by: home.ada)
            _ = try await home.ada.privateCloudDatabase.record(for: share.recordID)
            _ = try await database.record(for: share.recordID)
            answers.repeatKept()
            try await body(home, database, answers, share)
        }
    }

    @Test func `B-TM-05 an answer about a share that another one has overtaken is taken`() async throws {
        try await withEarlierAnswer { _, database, _, share in
            let earlier = try asShare(try await database.record(for: share.recordID))
            #expect(earlier.participants.count == 3)
        }
    }

    @Test func `B-TM-05 where the device cannot look again, the network is the error, and later all is well`()
        async throws
    {
        try await withEarlierAnswer { _, database, answers, share in
            answers.fail(.unreachable)
            let error = await #expect(throws: CKError.self) { _ = try await database.record(for: share.recordID) }
            #expect(error?.code == .networkFailure)
            let now = try asShare(try await database.record(for: share.recordID))
            #expect(now.participants.count == 2)
            let note = try await database.record(for: CKRecord.ID(recordName: "One", zoneID: share.recordID.zoneID))
            note["title"] = "One more"
            try await database.save(note)
        }
    }

    @Test func `B-ACP-08 a share that has ended meanwhile is unknown`() async throws {
        try await withEarlierAnswer { home, database, _, share in
            try await home.ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
            let error = await #expect(throws: CKError.self) { _ = try await database.record(for: share.recordID) }
            #expect(error?.code == .unknownItem)
        }
    }

    @Test func `B-TM-05 a cloud that shows an earlier share again and again is found out`() async throws {
        try await withEarlierAnswer { _, database, answers, share in
            for _ in 0..<8 { answers.repeatKept() }
            let error = await #expect(throws: CKError.self) { _ = try await database.record(for: share.recordID) }
            #expect(error?.code == .internalError)
            #expect(error?.localizedDescription.contains("went back in time") == true)
        }
    }
}
