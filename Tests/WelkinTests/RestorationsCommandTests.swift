import CloudKitDevice
import Foundation
import Testing

/// What a person sees and decides when the cloud says that it was restored.
@Suite(.timeLimit(.minutes(20))) struct RestorationsCommandTests {
    @Test func `B-TM-15 the claim is shown until the person accepts it`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let quiet = try await ada.welkin("restorations")
            #expect(quiet.status == 0 && quiet.remarks.contains("has not said"), "\(quiet.remarks)")
            let configuration = try ada.configuration()
            let folder = configuration.deviceProfile.folder + "/" + DeviceProfile.recordVersionsFolder
            var known = CloudRestorations()
            known.note(epoch: "a", restoredTo: 0, of: configuration.endpoint, now: 1)
            known.note(epoch: "b", restoredTo: 1_795_417_844_123, of: configuration.endpoint, now: 1_795_417_900_000)
            known.note(older: ["Notes/One"], returned: ["Notes/Gone"], of: configuration.endpoint)
            try PrivateFile.makeFolder(folder)
            try PrivateFile.replace(
                folder + "/" + DeviceProfile.restorationsFile, with: Array(JSONEncoder().encode(known)))
            let status = try await ada.welkin("status")
            #expect(status.remarks.contains("says that it was restored from a backup; 1 or more"), "\(status.remarks)")
            let listed = try await ada.welkin("restorations")
            for text in ["2026-11-23T07:10:44.123Z", "Notes/One", "Notes/Gone", "no"] {
                #expect(listed.output.contains(text), "\(listed.output)")
            }
            let unsure = try await ada.welkin("restorations", "accept")
            #expect(unsure.status == 1 && unsure.remarks.contains("--yes"), "\(unsure.remarks)")
            #expect(try configuration.deviceProfile.restorations() == known)
            #expect(try await ada.welkin("restorations", "accept", "--yes").status == 0)
            let claims = try configuration.deviceProfile.restorations().clouds[configuration.endpoint]?.claims
            #expect(claims?.map { $0.accepted != nil } == [true])
            #expect(try await ada.welkin("status").remarks.contains("restored") == false)
            #expect(try await ada.welkin("restorations", "accept").remarks.contains("nothing to accept"))
            // Signing out forgets the records.
            #expect(try await ada.welkin("logout").status == 0)
            let kept = try configuration.deviceProfile.restorations().clouds[configuration.endpoint]?.claims
            #expect(kept?.map { $0.accepted != nil && $0.older.isEmpty && $0.returned.isEmpty } == [true])
        }
    }
}
