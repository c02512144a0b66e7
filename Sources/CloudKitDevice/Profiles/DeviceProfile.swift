import Foundation
import Synchronization

/// One device of one user on this machine: a folder, readable by its owner only, that holds the device's credentials.
///
/// Several processes may use a profile at once: each write replaces the file as a whole, under a lock, and each read
/// notices that the file was replaced.
package final class DeviceProfile: Sendable {
    /// The name of the profile.
    package let name: String
    /// The profile's folder. Other modules may keep files of their own here.
    package let folder: String

    private let seen = Mutex(Seen())

    /// Credentials and keychain as last read, with the stamps by which changes of the files are noticed.
    private struct Seen {
        var stamp: FileStamp?
        var credentials: DeviceCredentials?
        var keychainStamp: FileStamp?
        var keychain: DeviceKeychain?
    }

    /// - Parameter folder: The folder of all profiles, see `DeviceConfiguration.profilesFolder`.
    package init(name: String, in folder: String) {
        self.name = name
        self.folder = folder + "/" + name
    }

    /// Returns a Boolean value that indicates whether a name is valid as a single folder's name.
    package static func isValidName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.first != "."
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// The state of the account: it changes whenever a user signs in or out, or a problem begins or ends, in
    /// any process.
    ///
    /// Cheap enough to be read often.
    package var accountState: AccountState {
        do {
            guard let credentials = try credentials() else { return .noAccount }
            let keychain = try keychain(of: credentials)
            let device = AccountState.Device(
                email: credentials.email, id: credentials.deviceID, accountID: credentials.accountID)
            switch credentials.trouble {
            case .disabled: return .restricted(device)
            // Keys that came later: a failure of the power may have left the note that there are none.
            case nil, .keysLocked:
                guard let keychain else { return .temporarilyUnavailable(.keysLocked, device) }
                return .available(device, keysGeneration: keychain.generation)
            case let trouble?: return .temporarilyUnavailable(trouble, device)
            }
        } catch {
            return .couldNotDetermine
        }
    }

    /// Returns the account's keys; nil when no account is signed in, or the device does not have them.
    ///
    /// - Throws: `DeviceProfileError` when a file exists and cannot be read, or is damaged.
    package func keychain() throws(DeviceProfileError) -> DeviceKeychain? {
        guard let credentials = try credentials() else { return nil }
        return try keychain(of: credentials)
    }

    private func keychain(of credentials: DeviceCredentials) throws(DeviceProfileError) -> DeviceKeychain? {
        let path = keychainFile(of: credentials.deviceID)
        guard let stamp = FileStamp(path: path) else { return nil }
        if let known = seen.withLock({ $0.keychainStamp == stamp ? $0.keychain : nil }) { return known }
        do {
            guard let bytes = try PrivateFile.read(path) else { return nil }
            let keychain = try DeviceKeychain(file: bytes)
            seen.withLock {
                $0.keychainStamp = stamp
                $0.keychain = keychain
            }
            return keychain
        } catch {
            throw DeviceProfileError(profile: name, path: path, cause: error)
        }
    }

    /// Returns the credentials; nil when no account is signed in.
    ///
    /// - Throws: `DeviceProfileError` when the file exists and cannot be read.
    package func credentials() throws(DeviceProfileError) -> DeviceCredentials? {
        guard let stamp = FileStamp(path: file) else {
            seen.withLock { $0 = Seen() }
            return nil
        }
        if let known = seen.withLock({ $0.stamp == stamp ? $0.credentials : nil }) { return known }
        let credentials = try read()
        seen.withLock {
            $0.stamp = stamp
            $0.credentials = credentials
        }
        return credentials
    }

    /// Returns what a cloud has given the signed-in device for a container, which is for no other cloud; nil when no account is signed in
    /// there, or the container was never opened.
    package func credentials(
        at endpoint: String, for container: String, environment: String
    ) throws(DeviceProfileError) -> ContainerCredentials? {
        guard let credentials = try credentials(), credentials.endpoint == endpoint else { return nil }
        return credentials[container, environment]
    }

    /// Returns the web token with which to call a container; nil when no account is signed in or the container was never opened
    /// (`SignIn.open` opens it).
    package func webAuthToken(
        for container: String, environment: String
    ) throws(DeviceProfileError) -> String? {
        try credentials()?[container, environment]?.webAuthToken
    }

    /// Keeps the token that came with an answer. Writes seldom: most calls do nothing.
    ///
    /// - Parameters:
    ///   - device: The device whose request was answered: nothing happens when another one was signed in meanwhile.
    ///   - now: Milliseconds since 1970.
    package func store(
        rotated token: String, for container: String, environment: String, of device: String,
        now: Int64 = DeviceProfile.now
    ) throws(DeviceProfileError) {
        guard let known = try credentials()?[container, environment], known.webAuthToken != token,
            known.shouldReplace(at: now)
        else { return }
        try update(device) { credentials in
            // Someone may have stored a newer token since.
            guard var entry = credentials[container, environment], entry.shouldReplace(at: now) else { return }
            entry.webAuthToken = token
            entry.stored = now
            credentials[container, environment] = entry
        }
    }

    /// Makes sure that the profile can be written, before something is done of which only its files will know.
    package func checkWritable() throws(DeviceProfileError) {
        let path = folder + "/room"
        do throws(FileFailure) {
            try PrivateFile.makeFolder(folder)
            try PrivateFile.replace(path, with: Array(repeating: 1, count: Self.roomBytes))
            try PrivateFile.remove(path)
        } catch {
            throw DeviceProfileError(profile: name, path: folder, cause: error)
        }
    }

    /// More than credentials and keychain need.
    private static let roomBytes = 32_768

    /// Signs the device in; an account that was signed in is replaced.
    ///
    /// Keychains have files of their own for each device, so that whenever this stops, credentials have the keychain that
    /// belongs to them. Other devices' keychains go only when there is one to take their place.
    ///
    /// - Parameter keychain: nil: the device could not open it.
    package func store(
        _ credentials: DeviceCredentials, keychain: DeviceKeychain?
    ) throws(DeviceProfileError) {
        do {
            try PrivateFile.makeFolder(folder)
            if let keychain {
                try PrivateFile.replace(keychainFile(of: credentials.deviceID), with: keychain.encoded())
            }
        } catch {
            throw DeviceProfileError(profile: name, path: folder, cause: error)
        }
        try update { $0 = credentials }
        if keychain != nil { removeKeychains(except: credentials.deviceID) }
    }

    /// Stores the account's present keys on a device, whose trouble is then over; nothing happens when it was signed out meanwhile.
    ///
    /// - Returns: Whether they were stored.
    package func store(_ keychain: DeviceKeychain, of device: String) throws(DeviceProfileError) -> Bool {
        try update(device) { credentials in
            try PrivateFile.replace(keychainFile(of: device), with: keychain.encoded())
            credentials.trouble = nil
        }
    }

    /// Remembers what keeps a device from private data; nothing happens when another one was signed in meanwhile.
    package func mark(_ trouble: AccountIssue, of device: String) throws(DeviceProfileError) {
        try update(device) { $0.trouble = trouble }
    }

    /// Forgets a trouble that is over.
    package func clear(_ trouble: AccountIssue, of device: String) throws(DeviceProfileError) {
        guard try credentials()?.trouble == trouble else { return }
        try update(device) { if $0.trouble == trouble { $0.trouble = nil } }
    }

    /// Adds or replaces a device's credentials for one container; nothing happens when it was signed out meanwhile.
    package func store(_ entry: ContainerCredentials, of device: String) throws(DeviceProfileError) {
        try update(device) { $0[entry.container, entry.environment] = entry }
    }

    /// Forgets the credentials and the account's keys. The profile's other files stay.
    package func signOut() throws(DeviceProfileError) {
        try update { $0 = nil }
        removeKeychains(except: nil)
    }

    /// Milliseconds since 1970.
    package static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private var file: String { folder + "/credentials.json" }

    private func keychainFile(of device: String) -> String {
        "\(folder)/\(Self.keychainPrefix)\(device)\(Self.keychainSuffix)"
    }

    private static let keychainPrefix = "keychain-"
    private static let keychainSuffix = ".json"

    /// Files that cannot be removed stay: they are not read any more.
    private func removeKeychains(except device: String?) {
        let kept = device.map(keychainFile)
        for file in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where file.hasPrefix(Self.keychainPrefix) && file.hasSuffix(Self.keychainSuffix) {
            let path = folder + "/" + file
            if path != kept { try? PrivateFile.remove(path) }
        }
    }

    /// Changes the credentials of a device; nothing happens when it was signed out, or another one signed in, meanwhile.
    ///
    /// - Returns: Whether the device is signed in.
    @discardableResult
    private func update(
        _ device: String, _ change: (inout DeviceCredentials) throws -> Void
    ) throws(DeviceProfileError) -> Bool {
        var isSignedIn = false
        try update { credentials in
            guard var own = credentials, own.deviceID == device else { return }
            try change(&own)
            credentials = own
            isSignedIn = true
        }
        return isSignedIn
    }

    private func update(_ change: (inout DeviceCredentials?) throws -> Void) throws(DeviceProfileError) {
        do {
            try PrivateFile.makeFolder(folder)
            try FileLock.hold(folder + "/lock") {
                let old = try PrivateFile.read(file).map(Self.decode)
                var new = old
                try change(&new)
                guard new != old else { return }
                if let new {
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                    try PrivateFile.replace(file, with: Array(encoder.encode(new)))
                } else {
                    try PrivateFile.remove(file)
                }
            }
        } catch {
            throw DeviceProfileError(profile: name, path: folder, cause: error)
        }
    }

    private func read() throws(DeviceProfileError) -> DeviceCredentials? {
        do {
            return try PrivateFile.read(file).map(Self.decode)
        } catch {
            throw DeviceProfileError(profile: name, path: file, cause: error)
        }
    }

    private static func decode(_ bytes: [UInt8]) throws -> DeviceCredentials {
        try JSONDecoder().decode(DeviceCredentials.self, from: Data(bytes))
    }
}

/// A profile's folder could not be read or written.
package struct DeviceProfileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the profile.
    package var profile: String
    /// The path of the file.
    package var path: String
    /// The reason, for users.
    package var reason: String
    /// What the system refused; nil: the contents are damaged.
    package var failure: FileFailure?

    init(profile: String, path: String, cause: any Error) {
        failure = cause as? FileFailure
        self.profile = profile
        self.path = path
        // A decoder's error may quote the file, which holds secrets.
        self.reason =
            failure?.description ?? (cause as? KeychainFileError)?.description
            ?? "its contents are not the credentials of a device"
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        "The profile \"\(profile)\" cannot be used (\(path)): \(reason). "
            + (failure == nil
                ? "Sign in again with: welkin login"
                : "Make room on the disk, or make the folder writable for this user.")
    }
}
