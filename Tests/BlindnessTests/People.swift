import CloudKitDevice
import CloudUnderTest
import Foundation

@testable import CloudKit
@testable import CloudKitClient

/// Devices with profiles of their own, which reach the cloud by way of a tap.
struct People {
    /// A signed-in device.
    struct Person {
        let container: CKContainer
        let signIn: SignIn
        let configuration: DeviceConfiguration

        var userRecordName: String? {
            (try? configuration.deviceProfile.credentials())??[
                configuration.container ?? "", configuration.environment]?.userRecordName
        }

        func changePassword(from old: String, to new: String) async throws {
            try await signIn.changePassword(from: old, to: new, container: configuration.container ?? "")
        }
    }

    private let tap: TrafficTap
    private let home: URL
    private let container: String
    private let apiToken: String
    private let rounds: Int
    private static let email = "canary@example.com"

    init(_ cloud: CloudProcess, _ tap: TrafficTap, home: URL, container: String, rounds: Int) throws {
        self.tap = tap
        self.home = home
        self.container = container
        self.rounds = rounds
        apiToken = try cloud.signIn(container: container, profile: "operator").apiToken
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    }

    /// - Returns: The device and the recovery words.
    func signUp(_ password: String) async throws -> (Person, [String]) {
        let person = person("a")
        try await person.signIn.signUp(email: Self.email, name: "Canary", password: password, container: container)
        let outcome = try await person.signIn.signIn(
            email: Self.email, password: password, deviceName: "a", container: container)
        guard case .made(let words) = outcome.keys else { return (person, []) }
        return (person, words)
    }

    func signIn(_ profile: String, _ password: String) async throws -> Person {
        let person = person(profile)
        _ = try await person.signIn.signIn(
            email: Self.email, password: password, deviceName: profile, container: container)
        return person
    }

    func recover(_ profile: String, _ words: [String], _ password: String) async throws -> Person {
        let person = person(profile)
        _ = try await person.signIn.recover(
            email: Self.email, words: words.joined(separator: " "), password: password, deviceName: profile,
            container: container)
        return person
    }

    private func person(_ profile: String) -> Person {
        let configuration = DeviceConfiguration(
            endpoint: "http://127.0.0.1:\(tap.port)", container: container, apiToken: apiToken, profile: profile,
            profilesFolder: home.path + "/profiles")
        return Person(
            container: CKContainer(configuration: configuration),
            signIn: SignIn(
                configuration: configuration, sendingBy: HTTPTransport.shared, rounds: rounds),
            configuration: configuration)
    }
}
