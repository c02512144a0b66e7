import CloudKitDevice
import CloudKitModel
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Devices that are signed in, and configured with another API token, container or environment than their own.
@Suite(.timeLimit(.minutes(20))) struct APITokenTests {
    private func save(_ device: CKContainer) async -> CKError? {
        do {
            try await device.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            return nil
        } catch {
            return error as? CKError
        }
    }

    @Test func `B-DB-14 an API token, a container or an environment that does not fit is an error of the app alone`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp("correct horse")
            #expect(await save(device.container) == nil)
            var wrongToken = device.configuration
            wrongToken.apiToken = "0123456789abcdef0123456789abcdef"
            var wrongContainer = device.configuration
            wrongContainer.container = "iCloud.com.example.unknown"
            var wrongEnvironment = device.configuration
            wrongEnvironment.environment = "production"
            for configuration in [wrongToken, wrongContainer, wrongEnvironment] {
                let container = CKContainer(configuration: configuration, transport: HTTPTransport.shared)
                for _ in 0..<2 {
                    let error = await save(container)
                    #expect(error?.code == .badContainer)
                    #expect(error?.localizedDescription.contains("unknown API token") == true)
                    #expect("\(error as Any)".contains("welkin token create"))
                }
                // The session goes on, and every process knows so.
                #expect(configuration.deviceProfile.accountState.isAvailable)
                #expect(await save(device.container) == nil)
            }
        }
    }

    @Test func `a device stays signed in when the app's API token is replaced`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp("correct horse")
            #expect(await save(device.container) == nil)
            let user = try await device.container.userRecordID()
            let next = try await cloud.newAPIToken()
            try await cloud.revokeAPIToken()
            var configuration = device.configuration
            configuration.apiToken = next
            let container = CKContainer(configuration: configuration, transport: HTTPTransport.shared)
            #expect(await save(container) == nil)
            #expect(try await container.userRecordID() == user)
            #expect(try await container.accountStatus() == .available)
        }
    }
}
