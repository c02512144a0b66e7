import Foundation
import Testing

@testable import CloudKit

extension Stage {
    /// Plays an attack and judges it; then the same without the lie, which must work without an error.
    static func check(_ attack: Attack, _ play: (Stage) async throws -> Void) async throws {
        try await HostileCloud.run { cloud in
            let stage = Stage(attack, cloud, isHonest: true)
            try await play(stage)
            #expect(stage.errors.isEmpty, "\(attack) without the lie: \(stage.errors)")
            #expect(!stage.hasLied)
        }
        try await HostileCloud.run { cloud in
            let stage = Stage(attack, cloud, isHonest: false)
            try await play(stage)
            #expect(stage.hasLied, "\(attack): the lie was never told")
            if !attack.opensUntilNoticed { try await stage.checkSecrecy() }
            stage.judge()
        }
    }

    /// The error of the item that failed, where others failed with it.
    private static func cause(_ error: any Error) -> CKError? {
        let error = error as? CKError
        let items = error?.partialErrorsByItemID?.values.compactMap { $0 as? CKError } ?? []
        return items.first { $0.code != .batchRequestFailed } ?? error
    }

    private func judge() {
        switch attack.verdict {
        case .detected(_, let codes, let texts):
            #expect(errors.count == occasions, "\(attack): noticed \(errors.count) times of \(occasions)")
            for error in errors {
                let error = Self.cause(error)
                #expect(error.map { codes.contains($0.code) } == true, "\(attack): \(String(describing: error))")
                let text = error?.localizedDescription ?? ""
                #expect(texts.contains { text.contains($0) }, "\(attack): \(text)")
            }
        case .refusedAtSignIn(let text):
            #expect(errors.count == occasions, "\(attack): noticed \(errors.count) times of \(occasions)")
            for error in errors { #expect("\(error)".contains(text), "\(attack): \(error)") }
        case .refusedAtApproval:
            Issue.record("\(attack) is for ApprovalAttackTests")
        case .harmless, .undetected:
            #expect(errors.isEmpty, "\(attack): \(errors)")
        }
    }
}

/// A way in which an app reads records.
enum Reading: CaseIterable {
    case lookup, query, feed

    /// Reads the notes; throws the error of one of them.
    func read(_ name: String, _ zone: CKRecordZone.ID, _ database: CKDatabase) async throws {
        switch self {
        case .lookup:
            _ = try await database.record(for: Stage.id(name, zone))
        case .query:
            let found = try await database.records(
                matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "title == %@", name)),
                inZoneWith: zone)
            for (_, result) in found.matchResults { _ = try result.get() }
        case .feed:
            let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
            for result in changes.modificationResultsByID.values { _ = try result.get() }
        }
    }
}
