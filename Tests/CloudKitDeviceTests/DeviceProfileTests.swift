import CloudKitDevice
import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct DeviceProfileTests {
    private static let device = AccountState.Device(email: "ada@example.com", id: "d")
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func profile() -> DeviceProfile { DeviceProfile(name: "one", in: folder.path + "/profiles") }

    private func credentials(_ token: String = "t0", stored: Int64 = 0) -> DeviceCredentials {
        DeviceCredentials(
            endpoint: "http://localhost", email: "ada@example.com", deviceID: "d", deviceSecret: "s",
            containers: [
                ContainerCredentials(
                    container: "iCloud.a", environment: "development", apiToken: "a", webAuthToken: token,
                    userRecordName: "_u", stored: stored, lifetime: 31_536_000_000)
            ])
    }

    private let keychain = DeviceKeychain(account: "ada@example.com", generation: 1, secret: AccountSecret())

    @Test func `no user is signed in at first`() throws {
        #expect(profile().accountState == .noAccount)
        #expect(try profile().credentials() == nil)
        #expect(try profile().webAuthToken(for: "iCloud.a", environment: "development") == nil)
    }

    @Test func `credentials are there for every process, readable by their owner only`() throws {
        try profile().store(credentials(), keychain: keychain)
        #expect(try profile().webAuthToken(for: "iCloud.a", environment: "development") == "t0")
        #expect(try profile().webAuthToken(for: "iCloud.a", environment: "production") == nil)
        #expect(
            profile().accountState
                == .available(Self.device, keysGeneration: 1))
        #expect(try folder.mode("profiles/one") == 0o700)
        #expect(try folder.mode("profiles/one/credentials.json") == 0o600)
    }

    @Test func `a fresh token is written now and then, not each time`() throws {
        try profile().store(credentials(stored: 0), keychain: keychain)
        let one = profile()
        try one.store(rotated: "t1", for: "iCloud.a", environment: "development", of: "d", now: 1000)
        #expect(try one.webAuthToken(for: "iCloud.a", environment: "development") == "t0")
        try one.store(rotated: "t2", for: "iCloud.a", environment: "development", of: "d", now: 3_600_000)
        #expect(try profile().webAuthToken(for: "iCloud.a", environment: "development") == "t2")
    }

    @Test func `what the cloud gave to one device is not kept for the one that was signed in since`() throws {
        try profile().store(credentials(stored: 0), keychain: keychain)
        let one = profile()
        try one.store(rotated: "t1", for: "iCloud.a", environment: "development", of: "e", now: 3_600_000)
        try one.store(
            ContainerCredentials(
                container: "iCloud.b", environment: "development", apiToken: "", webAuthToken: "t2",
                userRecordName: "", stored: 0, lifetime: 1), of: "e")
        #expect(try profile().webAuthToken(for: "iCloud.a", environment: "development") == "t0")
        #expect(try profile().webAuthToken(for: "iCloud.b", environment: "development") == nil)
    }

    @Test func `one process sees the commits of another`() throws {
        let one = profile()
        let two = profile()
        try one.store(credentials(), keychain: keychain)
        #expect(
            two.accountState == .available(Self.device, keysGeneration: 1))
        try two.signOut()
        #expect(one.accountState == .noAccount)
        try one.store(rotated: "t1", for: "iCloud.a", environment: "development", of: "d", now: 3_600_000)
        #expect(one.accountState == .noAccount)
    }

    @Test func `writers at the same time lose nothing`() async throws {
        try profile().store(credentials(), keychain: keychain)
        let folder = folder.path + "/profiles"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try DeviceProfile(name: "one", in: folder).store(
                        ContainerCredentials(
                            container: "iCloud.\(number)", environment: "development", apiToken: "", webAuthToken: "",
                            userRecordName: "", stored: 0, lifetime: 1), of: "d")
                }
            }
            try await group.waitForAll()
        }
        #expect(try profile().credentials()?.containers.count == 41)
    }

    @Test func `a broken file is an error and no sign-out, and its text is not shown`() throws {
        try profile().store(credentials(), keychain: keychain)
        try folder.write("secret garbage", to: "profiles/one/credentials.json")
        #expect(profile().accountState == .couldNotDetermine)
        let error = #expect(throws: DeviceProfileError.self) { try profile().credentials() }
        #expect(error.map { $0.description.contains("garbage") } == false)
    }
}
