import Foundation

/// Everything that belongs to one moment of a backup. It is written last: without it the moment does not exist.
package struct BackupManifest: Hashable, Sendable, Codable {
    /// The version that is written; later ones are not read.
    static let formatMax = 1

    /// The version of the format.
    package var format = Self.formatMax
    /// The name of the moment, its time in UTC; names are in the order of time.
    package var name: String
    /// The time at which the moment began, in milliseconds since 1970.
    package var time: Int64
    /// The version of the program that took it.
    package var program: String
    /// The store's state.
    package var facts: StoreFacts
    /// The store's file.
    var store: BackupContent
    /// The files that never change, by the folder that holds them: a list of `BackupFile` as JSON for each.
    var folders: [String: BackupContent]
    /// Further files of the data folder.
    var files: [BackupFile]
    /// Counts for people.
    package var counts: Counts
    /// The place among changes that are sent all the time; nil: none were.
    package var changes: ChangePosition?

    /// The numbers of a moment.
    package struct Counts: Hashable, Sendable, Codable {
        /// Bytes of the store.
        package var storeBytes: Int64 = 0
        /// Files of assets.
        package var assets = 0
        /// Their bytes.
        package var assetBytes: Int64 = 0
        /// Chunks that were not in the backup before.
        package var chunksAdded = 0
        /// Their bytes, as stored.
        package var bytesAdded: Int64 = 0
        /// The time that it took, in milliseconds.
        package var duration: Int64 = 0
    }

    /// Returns the name of a moment: `20261123T073044.123Z`.
    static func name(of time: Int64) -> String {
        var seconds = time_t(time / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2) + "T"
            + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "."
            + digits(max(0, time % 1000), 3) + "Z"
    }
}

/// What a store says about the state that was backed up.
package struct StoreFacts: Hashable, Sendable, Codable {
    /// The number that the store and all its copies share, in hexadecimal digits.
    package var storeID: String
    /// The epoch, in hexadecimal digits.
    package var epoch: String

    /// Creates a value with the given properties.
    package init(storeID: UInt64, epoch: UInt64) {
        self.storeID = String(storeID, radix: 16)
        self.epoch = String(epoch, radix: 16)
    }
}
