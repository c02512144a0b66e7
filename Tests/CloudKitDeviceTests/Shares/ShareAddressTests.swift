import Testing

@testable import CloudKitDevice

/// The addresses of links, and the credentials with which they are opened.
@Suite(.timeLimit(.minutes(20))) struct ShareAddressTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func `a link is taken with and without its scheme, and keeps its secret`() throws {
        for text in [
            "https://cloud.example.com:8443/share/abc#k=s", "welkin:https://cloud.example.com:8443/share/abc#k=s",
        ] {
            let address = try ShareAddress(text)
            #expect(address.endpoint == "https://cloud.example.com:8443")
            #expect(address.shortGUID == "abc")
            #expect(address.link == "https://cloud.example.com:8443/share/abc#k=s")
        }
    }

    @Test(arguments: [
        "", "hello", "welkin:", "welkin:--yes", "https://cloud.example.com/", "https://cloud.example.com/share/",
        "https://cloud.example.com/share/a/b", "ftp://cloud.example.com/share/a", "file:///share/a",
        "https://ada:secret@cloud.example.com/share/a",
        "https://cloud.example.com/share/" + String(repeating: "a", count: 3000),
    ])
    func `an invalid link is refused`(text: String) {
        #expect(throws: LinkError.self) { try ShareAddress(text) }
    }

    private func opening(
        _ link: String = "https://cloud.example.com/share/a", endpoint: String? = nil,
        _ variables: [String: String] = [:]
    ) throws -> DeviceConfiguration {
        try DeviceConfiguration.opening(
            ShareAddress(link), endpoint: endpoint,
            variables: ["HOME": folder.path, "XDG_DATA_HOME": folder.path].merging(variables) { $1 },
            workingFolder: folder.path)
    }

    private func signIn(_ profile: String, at endpoint: String = "https://cloud.example.com") throws {
        var credentials = DeviceCredentials(endpoint: endpoint, email: "a@b.c", deviceID: profile, deviceSecret: "s")
        credentials["iCloud.a", "development"] = ContainerCredentials(
            container: "iCloud.a", environment: "development", apiToken: "token of " + profile, webAuthToken: "w",
            userRecordName: "_u", stored: 0, lifetime: 0)
        try DeviceProfile(name: profile, in: folder.path + "/welkin/profiles").store(credentials, keychain: nil)
    }

    @Test func `the cloud is the link's, the profile the one that is signed in there, and nothing is sent elsewhere`()
        throws
    {
        #expect(try opening().profile == "default")
        try signIn("work")
        try signIn("elsewhere", at: "https://other.example.com")
        let configuration = try opening([
            "CLOUDKIT_ENDPOINT": "https://other.example.com", "CLOUDKIT_API_TOKEN": "other's",
        ])
        #expect(configuration.endpoint == "https://cloud.example.com")
        #expect(configuration.profile == "work")
        #expect(configuration.apiToken(for: "iCloud.a") == "token of work")
        #expect(configuration.apiToken(for: "iCloud.b") == nil)
        // Configured for this very cloud, a token serves.
        let own = try opening(["CLOUDKIT_ENDPOINT": "https://cloud.example.com", "CLOUDKIT_API_TOKEN": "mine"])
        #expect(own.apiToken(for: "iCloud.b") == "mine")
    }

    @Test func `of several profiles one is named, or the default is taken`() throws {
        try signIn("home")
        try signIn("work")
        #expect(throws: LinkError.severalProfiles(["home", "work"])) { try opening() }
        #expect(try opening(["CLOUDKIT_PROFILE": "work"]).profile == "work")
        #expect(try opening(["CLOUDKIT_PROFILE": "nobody"]).profile == "nobody")
        try signIn("default")
        #expect(try opening().profile == "default")
    }

    @Test func `a link to another cloud than the one named, or over an open network, is refused`() throws {
        #expect(throws: LinkError.otherCloud("https://cloud.example.com")) {
            try opening(endpoint: "https://other.example.com")
        }
        #expect(throws: DeviceConfigurationError.self) { try opening("http://cloud.example.com/share/a") }
    }

    private func opening(_ variables: [String: String]) throws -> DeviceConfiguration {
        try opening("https://cloud.example.com/share/a", endpoint: nil, variables)
    }
}
