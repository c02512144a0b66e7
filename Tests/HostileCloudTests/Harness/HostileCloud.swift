import CloudKitAccounts
import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitTesting
import Foundation
import ScriptedCloud
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// A real cloud behind a liar, with devices of several people.
final class HostileCloud: Sendable {
    static let container = "iCloud.com.example.hostile"

    let liar = Liar()
    let running: RunningCloud
    private let apiToken: String
    private let folder: String
    private let devices = Mutex<[String: Device]>([:])
    private let people = Mutex<Set<String>>([])

    private init(_ running: RunningCloud) async throws {
        self.running = running
        apiToken = try await running.makeAPIToken(of: Self.container)
        folder = FileManager.default.temporaryDirectory.appending(path: "welkin-hostile-\(UUID().uuidString)").path()
    }

    static func run<Value>(_ body: (HostileCloud) async throws -> Value) async throws -> Value {
        let last = Mutex<Int64>(0)
        // Time passes with every look at the clock, so that dates differ.
        let running = try await RunningCloud.start(
            CloudStorage(now: {
                last.withLock { last in
                    last = max(last + 1, Int64(Date().timeIntervalSince1970 * 1000))
                    return last
                }
            }))
        do {
            let cloud = try await HostileCloud(running)
            let value = try await body(cloud)
            await running.stop()
            try? FileManager.default.removeItem(atPath: cloud.folder)
            return value
        } catch {
            await running.stop()
            throw error
        }
    }

    static func password(_ person: String) -> String { "password of \(person)" }
    static func email(_ person: String) -> String { "\(person)@example.com" }

    /// Returns a device of a person; the first call makes the account and signs in.
    func device(_ person: String, _ kind: String = "phone") async throws -> Device {
        let name = "\(person)/\(kind)"
        if let known = devices.withLock({ $0[name] }) { return known }
        let device = unsignedDevice(name)
        if people.withLock({ $0.insert(person).inserted }) {
            try await device.signIn.signUp(
                email: Self.email(person), name: person, password: Self.password(person), container: Self.container)
        }
        try await signIn(device)
        devices.withLock { $0[name] = device }
        return device
    }

    /// Signs a device in.
    @discardableResult
    func signIn(_ device: Device) async throws -> SignIn.Outcome {
        let person = String(device.name.prefix { $0 != "/" })
        return try await device.signIn.signIn(
            email: Self.email(person), password: Self.password(person), deviceName: device.name,
            container: Self.container)
    }

    /// Returns a device that is not signed in.
    func unsignedDevice(_ name: String) -> Device {
        let profile = name.replacing("/", with: "-")
        return Device(
            name,
            DeviceConfiguration(
                endpoint: running.endpoint, container: Self.container, apiToken: apiToken, profile: profile,
                profilesFolder: folder),
            over: LyingTransport(liar: liar, device: name, real: HTTPTransport.shared), rounds: RunningCloud.rounds)
    }

    /// Returns the device as it is after its process has ended and begun again.
    func restarted(_ device: Device) throws -> Device {
        let again = unsignedDevice(device.name)
        try again.configuration.deviceProfile.age()
        devices.withLock { $0[device.name] = again }
        return again
    }
}
