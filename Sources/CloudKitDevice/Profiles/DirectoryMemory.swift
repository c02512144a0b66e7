import Foundation

/// The facts that a profile keeps of the directories of its clouds.
package struct DirectoryMemory: Codable, Hashable, Sendable {
    /// The facts about one cloud's directory.
    package struct Known: Codable, Hashable, Sendable {
        /// The public keys, believed at first sight.
        package var keys: Data
        /// The newest head that was seen; empty: none that counts.
        package var head = Data()
        /// The devices that the account's entry has listed, by account; hexadecimal hashes.
        package var devices: [String: [String]] = [:]
        /// Devices that appeared after the account's list was first seen, and that the user has not been shown.
        package var newDevices: [String: [String]] = [:]

        /// Creates the facts about a directory of which no head was seen.
        package init(keys: Data) { self.keys = keys }
    }

    /// By the cloud's address.
    package var clouds: [String: Known] = [:]

    /// Creates an empty memory.
    package init() {}

    /// Follows a cloud's directory from the head that it shows next: the one that was seen is lost, since the cloud was restored.
    mutating func acceptEarlierState(of endpoint: String) { clouds[endpoint]?.head = Data() }
}
