import CloudKitDevice
import CloudUnderTest
import Foundation

@testable import CloudKit
@testable import CloudKitClient

/// Devices with their own profiles, whose traffic passes a tap.
struct TappedDevices {
    /// A signed-in device.
    struct Device {
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
    func signUp(_ password: String) async throws -> (Device, [String]) {
        let device = device("a")
        try await device.signIn.signUp(email: Self.email, name: "Canary", password: password, container: container)
        let outcome = try await device.signIn.signIn(
            email: Self.email, password: password, deviceName: "a", container: container)
        guard case .made(let words) = outcome.keys else { return (device, []) }
        return (device, words)
    }

    func signIn(_ profile: String, _ password: String) async throws -> Device {
        let device = device(profile)
        _ = try await device.signIn.signIn(
            email: Self.email, password: password, deviceName: profile, container: container)
        return device
    }

    func recover(_ profile: String, words: [String], password: String) async throws -> Device {
        let device = device(profile)
        _ = try await device.signIn.recover(
            email: Self.email, words: words.joined(separator: " "), password: password, deviceName: profile,
            container: container)
        return device
    }

    private func device(_ profile: String) -> Device {
        let configuration = DeviceConfiguration(
            endpoint: "http://127.0.0.1:\(tap.port)", container: container, apiToken: apiToken, profile: profile,
            profilesFolder: home.path + "/profiles")
        return Device(
            container: CKContainer(configuration: configuration),
            signIn: SignIn(
                configuration: configuration, sendingBy: HTTPTransport.shared, rounds: rounds),
            configuration: configuration)
    }
}
