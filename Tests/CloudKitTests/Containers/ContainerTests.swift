import CloudKitDevice
import CloudKitEncryption
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct ContainerTests {
    private func container(_ configuration: DeviceConfiguration, identifier: String? = nil) -> CKContainer {
        CKContainer(
            identifier: identifier, configuration: configuration,
            transport: ScriptedTransport(ScriptedTransport.findsAll))
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    @Test func `B-DB-02 all three databases are there, signed out too`() async throws {
        let container = CKContainer.scripted(ScriptedTransport(), account: .signedOut)
        #expect(container.privateCloudDatabase.databaseScope == .private)
        #expect(container.database(with: .public) === container.publicCloudDatabase)
        #expect(container.database(with: .shared).databaseScope == .shared)
        #expect(container.containerIdentifier == "iCloud.com.example.app")
    }

    @Test func `Without configuration every call reports what is missing`() async throws {
        let connection = ContainerConnection(
            identifier: nil, place: .failure(.misconfigured(DeviceConfigurationError.endpointMissing.description)),
            account: ScriptedAccount(), transport: ScriptedTransport())
        let container = CKContainer(connection: connection)
        let first = await #expect(throws: CKError.self) { _ = try await container.accountStatus() }
        let second = await #expect(throws: CKError.self) {
            _ = try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
        }
        for error in [first, second] {
            #expect(error?.code == .badContainer)
            #expect(error?.localizedDescription.contains("CLOUDKIT_ENDPOINT") == true)
        }
    }

    @Test func `A missing container or API token is named`() async throws {
        try await withFolder { folder in
            let endpoint = "https://cloud.test"
            let nameless = container(DeviceConfiguration(endpoint: endpoint, apiToken: "api", profilesFolder: folder))
            let tokenless = container(
                DeviceConfiguration(endpoint: endpoint, container: "iCloud.a", profilesFolder: folder))
            for (container, word) in [(nameless, "CLOUDKIT_CONTAINER"), (tokenless, "CLOUDKIT_API_TOKEN")] {
                let error = await #expect(throws: CKError.self) {
                    _ = try await container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
                }
                #expect(error?.code == .badContainer)
                #expect(error?.localizedDescription.contains(word) == true)
            }
        }
    }

    @Test func `B-ACC-01 the account status follows the profile, and profiles do not share it`() async throws {
        try await withFolder { folder in
            let configurations = ["one", "two"].map {
                DeviceConfiguration(
                    endpoint: "https://cloud.test", container: "iCloud.a", apiToken: "api", profile: $0,
                    profilesFolder: folder)
            }
            let containers = configurations.map { container($0) }
            try configurations[0].deviceProfile.store(
                DeviceCredentials(
                    endpoint: "https://cloud.test", email: "a@example.com", deviceID: "d", deviceSecret: "s",
                    containers: [
                        ContainerCredentials(
                            container: "iCloud.a", environment: "development", apiToken: "api", webAuthToken: "web",
                            userRecordName: "_a", stored: 0, lifetime: 1)
                    ]),
                keychain: DeviceKeychain(account: "a@example.com", generation: 1, secret: AccountSecret()))
            #expect(try await containers[0].accountStatus() == .available)
            #expect(try await containers[1].accountStatus() == .noAccount)
            _ = try await containers[0].privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
            let error = await #expect(throws: CKError.self) {
                _ = try await containers[1].privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
            }
            #expect(error?.code == .notAuthenticated)
            let status = await withCheckedContinuation { continuation in
                containers[0].accountStatus { status, _ in continuation.resume(returning: status) }
            }
            #expect(status == .available)
        }
    }

    @Test func `B-ACC-03 signing in posts a notification while a container lives`() async throws {
        try await withFolder { folder in
            let configuration = DeviceConfiguration(
                endpoint: "https://cloud.test", container: "iCloud.a", profilesFolder: folder)
            let account = ProfileAccount(
                configuration: configuration, container: "iCloud.a", transport: ScriptedTransport())
            let watch = AccountMonitor(account, interval: .milliseconds(20), changed: CKContainer.postAccountChanged)
            let (posts, post) = AsyncStream.makeStream(of: Void.self)
            let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
                _ in post.yield()
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            try configuration.deviceProfile.store(
                DeviceCredentials(
                    endpoint: "https://cloud.test", email: "a@example.com", deviceID: "d", deviceSecret: "s"),
                keychain: nil)
            var iterator = posts.makeAsyncIterator()
            #expect(await iterator.next() != nil)
            withExtendedLifetime(watch) {}
        }
    }

    @Test func `B-ACC-01 B-ACC-03 an account problem met by another process is seen and posted here`() async throws {
        try await withFolder { folder in
            let configuration = DeviceConfiguration(
                endpoint: "https://cloud.test", container: "iCloud.a", apiToken: "api", profilesFolder: folder)
            try configuration.deviceProfile.store(
                DeviceCredentials(
                    endpoint: "https://cloud.test", email: "a@example.com", deviceID: "d", deviceSecret: "s"),
                keychain: DeviceKeychain(account: "a@example.com", generation: 1, secret: AccountSecret()))
            let account = ProfileAccount(
                configuration: configuration, container: "iCloud.a", transport: ScriptedTransport())
            #expect(CKAccountStatus(account.state) == .available)
            let watch = AccountMonitor(account, interval: .milliseconds(20), changed: CKContainer.postAccountChanged)
            let (posts, post) = AsyncStream.makeStream(of: Void.self)
            let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
                _ in post.yield()
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            try configuration.deviceProfile.mark(.sessionEnded, of: "d")
            var iterator = posts.makeAsyncIterator()
            #expect(await iterator.next() != nil)
            #expect(CKAccountStatus(account.state) == .temporarilyUnavailable)
            let container = container(configuration)
            let error = await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
            }
            #expect(error?.code == .accountTemporarilyUnavailable)
            withExtendedLifetime(watch) {}
        }
    }

    @Test func `B-USR-01 the record ID of the user comes from the cloud`() async throws {
        let transport = ScriptedTransport { _ in .user("_0123") }
        let container = CKContainer.scripted(transport)
        #expect(try await container.userRecordID().recordName == "_0123")
        #expect(transport.requests.first?.url.path.hasSuffix("/public/users/caller") == true)
        let name = await withCheckedContinuation { continuation in
            container.fetchUserRecordID { id, _ in continuation.resume(returning: id?.recordName) }
        }
        #expect(name == "_0123")
    }

    @Test func `B-ACC-04 the record ID of the user needs an account`() async throws {
        let container = CKContainer.scripted(ScriptedTransport(), account: .signedOut)
        let error = await #expect(throws: CKError.self) { _ = try await container.userRecordID() }
        #expect(error?.code == .notAuthenticated)
    }
}
