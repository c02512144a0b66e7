import CloudKitDevice
import Testing

struct DeviceConfigurationTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func resolve(_ variables: [String: String]) throws -> DeviceConfiguration {
        try DeviceConfiguration.resolve(
            variables: ["HOME": folder.path].merging(variables) { $1 }, workingFolder: folder.path)
    }

    @Test func `the environment is enough`() throws {
        var configuration = try resolve([
            "CLOUDKIT_ENDPOINT": "https://cloud.example.com/", "CLOUDKIT_CONTAINER": "iCloud.a",
            "CLOUDKIT_ENVIRONMENT": "production", "CLOUDKIT_API_TOKEN": "t", "CLOUDKIT_PROFILE": "work",
            "XDG_DATA_HOME": "/data",
        ])
        #expect(configuration.assetCache?.folder == folder.path + "/.cache/welkin/assets")
        configuration.assetCache = nil
        #expect(
            configuration
                == DeviceConfiguration(
                    endpoint: "https://cloud.example.com", container: "iCloud.a", environment: "production",
                    apiToken: "t", profile: "work", profilesFolder: "/data/welkin/profiles"))
        #expect(configuration.deviceProfile.folder == "/data/welkin/profiles/work")
    }

    @Test func `a file is read, and the environment goes before it`() throws {
        try folder.write(
            #"{"endpoint": "http://localhost:1", "container": "iCloud.a", "apiToken": "t", "apiTokens": {"iCloud.b": "u"}}"#,
            to: "cloudkit.json")
        let configuration = try resolve(["CLOUDKIT_ENDPOINT": "http://127.0.0.1:2"])
        #expect(configuration.endpoint == "http://127.0.0.1:2")
        #expect(configuration.environment == "development")
        #expect(configuration.profile == "default")
        #expect(configuration.apiToken(for: "iCloud.a") == "t")
        #expect(configuration.apiToken(for: "iCloud.b") == "u")
        #expect(configuration.apiToken(for: "iCloud.c") == nil)
    }

    @Test func `a named file goes before the one of the folder, and has to be there`() throws {
        try folder.write(#"{"endpoint": "http://localhost:1"}"#, to: "cloudkit.json")
        try folder.write(#"{"endpoint": "http://localhost:2"}"#, to: "other.json")
        #expect(try resolve(["CLOUDKIT_CONFIGURATION": folder.path + "/other.json"]).endpoint == "http://localhost:2")
        #expect(throws: DeviceConfigurationError.fileUnreadable("/nowhere")) {
            try resolve(["CLOUDKIT_CONFIGURATION": "/nowhere"])
        }
    }

    @Test func `missing or wrong configuration is reported`() throws {
        #expect(throws: DeviceConfigurationError.endpointMissing) { try resolve([:]) }
        #expect(throws: DeviceConfigurationError.environmentUnknown("test")) {
            try resolve(["CLOUDKIT_ENDPOINT": "http://localhost", "CLOUDKIT_ENVIRONMENT": "test"])
        }
        #expect(throws: DeviceConfigurationError.profileNameInvalid("../x")) {
            try resolve(["CLOUDKIT_ENDPOINT": "http://localhost", "CLOUDKIT_PROFILE": "../x"])
        }
        try folder.write("{", to: "cloudkit.json")
        #expect(throws: DeviceConfigurationError.fileMalformed(folder.path + "/cloudkit.json")) { try resolve([:]) }
    }

    @Test func `an app without settings uses the profile that is signed in`() throws {
        func signedIn(_ container: String? = nil, _ variables: [String: String] = [:]) throws -> DeviceConfiguration {
            try DeviceConfiguration.ofSignedInDevice(
                container: container, variables: ["HOME": folder.path].merging(variables) { $1 },
                workingFolder: folder.path)
        }
        #expect(throws: DeviceConfigurationError.endpointMissing) { try signedIn("iCloud.a") }
        let profile = DeviceProfile(name: "default", in: folder.path + "/.local/share/welkin/profiles")
        var held = DeviceCredentials(
            endpoint: "https://cloud.example.com", email: "ada@example.com", deviceID: "d", deviceSecret: "s")
        held["iCloud.a", "production"] = credentials(of: "iCloud.a", "production")
        try profile.store(held, keychain: nil)
        let only = try signedIn()
        #expect(only.endpoint == "https://cloud.example.com")
        #expect(only.container == "iCloud.a" && only.environment == "production")
        #expect(try signedIn("iCloud.new").environment == "development")

        held["iCloud.b", "development"] = credentials(of: "iCloud.b", "development")
        try profile.store(held, keychain: nil)
        #expect(try signedIn("iCloud.a").environment == "production")
        #expect(try signedIn("iCloud.b").environment == "development")
        #expect(try signedIn("iCloud.a", ["CLOUDKIT_ENVIRONMENT": "development"]).environment == "development")
        #expect(try signedIn("iCloud.a", ["CLOUDKIT_ENDPOINT": "http://localhost:1"]).endpoint == "http://localhost:1")
        try folder.write(#"{"profile": "work"}"#, to: "cloudkit.json")
        #expect(throws: DeviceConfigurationError.endpointMissing) { try signedIn("iCloud.a") }
    }

    @Test func `B-ACC-05 contacts are read from vCards and plain lines`() throws {
        let contacts = ContactsFile(
            text:
                "BEGIN:VCARD\r\nFN:Ada\r\nitem1.EMAIL;TYPE=home:ada@example.com\r\nTEL;VALUE=uri:tel:+441632960083\r\n"
                + "NOTE:bob@example.com\r\nEND:VCARD\r\n\n  cyd@example.com \ncyd@example.com\n+44 1632 960084\nnobody\n"
        )
        #expect(contacts.emailAddresses == ["ada@example.com", "cyd@example.com"])
        #expect(contacts.phoneNumbers == ["+441632960083", "+44 1632 960084"])
        #expect(throws: DeviceConfigurationError.contactsUnreadable("/nowhere")) { try ContactsFile(path: "/nowhere") }
        try folder.write(#"{"endpoint": "http://localhost:1", "contacts": "/c"}"#, to: "cloudkit.json")
        #expect(try resolve([:]).contactsFile == "/c")
        #expect(try resolve(["CLOUDKIT_CONTACTS": "/d"]).contactsFile == "/d")
    }

    private func credentials(of container: String, _ environment: String) -> ContainerCredentials {
        ContainerCredentials(
            container: container, environment: environment, apiToken: "t", webAuthToken: "w", userRecordName: "_1",
            stored: 0, lifetime: 1)
    }

    @Test(arguments: [
        "http://127.0.0.1:8080", "http://localhost", "http://[::1]:80", "http://127.1.2.3", "https://cloud.example.com",
        "HTTPS://cloud.example.com",
    ])
    func `plain HTTP goes to this machine, HTTPS anywhere`(endpoint: String) throws {
        #expect(try DeviceConfiguration.validateEndpoint(endpoint) == endpoint)
    }

    @Test(arguments: [
        "http://cloud.example.com", "http://127.0.0.1.example.com", "http://localhost.example.com", "http://10.0.0.1",
        "http://0.0.0.0", "http://127.0.0", "http://127.0.0.256",
    ])
    func `credentials do not travel in plain text`(endpoint: String) {
        #expect(throws: DeviceConfigurationError.endpointNotEncrypted(endpoint)) {
            try DeviceConfiguration.validateEndpoint(endpoint)
        }
    }

    @Test(arguments: ["", "cloud.example.com", "ftp://a", "https://", "https://a?b", "https://user:password@a"])
    func `an invalid URL is refused`(endpoint: String) {
        #expect(throws: DeviceConfigurationError.endpointMalformed(endpoint)) {
            try DeviceConfiguration.validateEndpoint(endpoint)
        }
    }
}
