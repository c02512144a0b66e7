/// The keys of a share as the server keeps them: opaque bytes, by epoch.
///
/// The server cannot open any of them. It ensures that an epoch is never taken back, that each participant gets their own
/// wrap only, and reports to owner and administrators which participants wait for one.
package struct ShareKeys: Hashable, Codable, Sendable {
    /// The newest epoch; the first is 1.
    package var epoch: Int
    /// A Boolean value that indicates whether a participant who had a key of this epoch was removed, so that a new one
    /// is due (B-TM-05). Sent to owner and administrators.
    package var needsNewEpoch: Bool
    /// Participants with an account and without a wrap of the newest epoch; sent to owner and administrators.
    package var waiting: [String]
    /// Newest first; in a share record the newest few, see `epochsShown`.
    package var epochs: [ShareKeyEpoch]

    /// Creates a value with the given properties.
    package init(epoch: Int, needsNewEpoch: Bool = false, waiting: [String] = [], epochs: [ShareKeyEpoch] = []) {
        self.epoch = epoch
        self.needsNewEpoch = needsNewEpoch
        self.waiting = waiting
        self.epochs = epochs
    }

    /// Bytes of one participant's wrap, and of the link's.
    package static let wrapBytesMax = 1024
    /// Hexadecimal digits of an identity's fingerprint.
    package static let fingerprintDigits = 64
    /// The maximum size of an epoch's data for all participants, in bytes, such as the earlier key wrapped under the
    /// epoch's own.
    package static let blobBytesMax = 2048
    /// The maximum size of the signed statement of who takes part, in bytes.
    package static let statementBytesMax = 16_384
    /// The maximum size of the proof that a user has a link, in bytes.
    package static let linkProofBytesMax = 64
    /// The highest epoch of a share.
    package static let epochsMax = 100_000
    /// Epochs that a share record carries; `shares/keys/lookup` has the others.
    package static let epochsShown = 16
}

/// One epoch of a share's keys, as one viewer sees it.
package struct ShareKeyEpoch: Hashable, Codable, Sendable {
    /// The epoch.
    package var epoch: Int
    /// The bytes for all who see the share.
    package var blob: [UInt8]?
    /// The key under the secret of the public link.
    package var link: [UInt8]?
    /// The viewer's own wrap.
    package var wrap: [UInt8]?
    /// The signed statement of who takes part; of the newest epoch only.
    package var statement: [UInt8]?

    /// Creates a value with the given properties.
    package init(
        epoch: Int, blob: [UInt8]? = nil, link: [UInt8]? = nil, wrap: [UInt8]? = nil, statement: [UInt8]? = nil
    ) {
        self.epoch = epoch
        self.blob = blob
        self.link = link
        self.wrap = wrap
        self.statement = statement
    }
}

/// Keys that a device of the owner or of an administrator hands in.
package struct ShareKeyChange: Hashable, Sendable {
    /// The epoch held, to add wraps to it, or the next one, to begin it; anything else is `staleKeyEpoch`.
    package var epoch: Int
    /// A Boolean value that indicates whether the change begins the epoch, so that of two devices with different keys
    /// only one does; nil if either is right.
    package var begins: Bool?
    /// The bytes for all members; nil for no change.
    package var blob: [UInt8]?
    /// The key wrapped for the link; nil for none.
    package var link: [UInt8]?
    /// The key wrapped for participants.
    package var wraps: [Wrap]
    /// The signed statement of who takes part; nil for no change.
    package var statement: Statement?

    /// A signed statement, opaque to the server, which ensures that each follows the one before it.
    package struct Statement: Hashable, Sendable {
        /// One more than the number of the statement that is stored; 1 for the first of a share.
        package var counter: Int
        /// The bytes.
        package var bytes: [UInt8]

        /// Creates a value with the given properties.
        package init(counter: Int, bytes: [UInt8]) {
            self.counter = counter
            self.bytes = bytes
        }
    }

    /// The key wrapped for one participant.
    package struct Wrap: Hashable, Sendable {
        /// The id of the participant.
        package var participantID: String
        /// The wrapped key.
        package var bytes: [UInt8]
        /// The fingerprint of the public identity to which it is sealed, in hexadecimal digits; nil for a link's. A
        /// participant with another identity by now waits for a key.
        package var identity: String?

        /// Creates a value with the given properties.
        package init(participantID: String, bytes: [UInt8], identity: String? = nil) {
            self.participantID = participantID
            self.bytes = bytes
            self.identity = identity
        }
    }

    /// Creates a value with the given properties.
    package init(
        epoch: Int, begins: Bool? = nil, blob: [UInt8]? = nil, link: [UInt8]? = nil, wraps: [Wrap] = [],
        statement: Statement? = nil
    ) {
        self.epoch = epoch
        self.begins = begins
        self.blob = blob
        self.link = link
        self.wraps = wraps
        self.statement = statement
    }
}

/// A `shares/keys/lookup` request.
package struct ShareKeysRequest: Hashable, Sendable {
    /// The zone of the share.
    package var zoneID: ZoneID
    /// The name of the share's record.
    package var recordName: String
    /// Epochs before this one; nil: from the newest.
    package var before: Int?

    /// Creates a value with the given properties.
    package init(zoneID: ZoneID, recordName: String, before: Int? = nil) {
        self.zoneID = zoneID
        self.recordName = recordName
        self.before = before
    }
}

/// The answer to `shares/keys/lookup` and `shares/keys/store`.
package struct ShareKeysAnswer: Hashable, Sendable {
    /// The keys.
    package var keys: ShareKeys
    /// Participants who wait for a key, with their public identities; for owner and administrators.
    package var waiting: [ShareParticipant]
    /// A Boolean value that indicates whether there are epochs before the last one given.
    package var moreComing: Bool

    /// Creates a value with the given properties.
    package init(keys: ShareKeys, waiting: [ShareParticipant] = [], moreComing: Bool = false) {
        self.keys = keys
        self.waiting = waiting
        self.moreComing = moreComing
    }
}

/// A `shares/keys/store` request.
package struct StoreShareKeysRequest: Hashable, Sendable {
    /// The zone of the share.
    package var zoneID: ZoneID
    /// The name of the share's record.
    package var recordName: String
    /// The keys to store.
    package var change: ShareKeyChange

    /// Creates a value with the given properties.
    package init(zoneID: ZoneID, recordName: String, change: ShareKeyChange) {
        self.zoneID = zoneID
        self.recordName = recordName
        self.change = change
    }
}
