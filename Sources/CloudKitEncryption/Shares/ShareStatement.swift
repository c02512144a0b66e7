import Crypto

/// The terms of a share as a device of its owner, or of an administrator, confirmed them: the place that is shared, the users
/// who take part and the access of users who have the link.
///
/// The cloud's own description of a share gives nobody a key: a device wraps keys only for participants of a verified
/// statement, see `SealedShareStatement`.
package struct ShareStatement: Hashable, Sendable {
    /// The share.
    package let share: RecordAddress
    /// The name of the record whose tree is shared; nil if the whole zone is.
    package var root: String?
    /// The access of users who only have the link.
    package var publicPermission: Permission
    /// The participants in addition to the owner, each id once.
    package var participants: [Participant]
    /// The newest head of the directory of identities that the signing device knew; nil if it knew none.
    package var directoryHead: DirectoryHead?

    /// The access of a participant, or of users who have the link.
    package enum Permission: UInt8, Hashable, Comparable, Sendable {
        case none = 1
        case readOnly = 2
        case readWrite = 3

        /// Returns a Boolean value that indicates whether the first permission allows less.
        package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
    }

    /// A position in a directory of identities: the number of its tree, and the hash of the tree's root.
    package struct DirectoryHead: Hashable, Sendable {
        /// The number of the tree.
        package var number: UInt64
        /// The 32 bytes of the hash.
        package var hash: [UInt8]

        /// Creates a value with the given properties.
        package init(number: UInt64, hash: [UInt8]) {
            self.number = number
            self.hash = hash
        }
    }

    /// The most participants of a statement: those of a share.
    package static let participantsMax = 100

    /// Creates a value with the given properties.
    package init(
        of share: RecordAddress, root: String?, publicPermission: Permission = .none, participants: [Participant] = [],
        directoryHead: DirectoryHead? = nil
    ) {
        self.share = share
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.directoryHead = directoryHead
    }

    /// Returns the participant with an id; nil if the statement has none.
    package func participant(_ id: String) -> Participant? { participants.first { $0.id == id } }

    /// Adds a participant, or replaces the one with the same id.
    package mutating func set(_ participant: Participant) {
        if let index = participants.firstIndex(where: { $0.id == participant.id }) {
            participants[index] = participant
        } else {
            participants.append(participant)
        }
    }
}

extension ShareStatement {
    /// A participant, and the person who is meant.
    package struct Participant: Hashable, Sendable {
        /// The participant's id in the share.
        package let id: String
        /// A Boolean value that indicates whether the participant may invite and remove others.
        package var isAdministrator: Bool
        /// The permission; an administrator's is `readWrite`.
        package var permission: Permission
        /// The person by whose address or name the participant was invited; nil for the first user who opens a one-time link.
        package var subject: Subject?
        /// The identity that gets keys; nil as long as no device has met one.
        package var identity: Fingerprint?

        /// Creates a value with the given properties.
        package init(
            id: String, isAdministrator: Bool = false, permission: Permission, subject: Subject?,
            identity: Fingerprint? = nil
        ) {
            self.id = id
            self.isAdministrator = isAdministrator
            self.permission = isAdministrator ? .readWrite : permission
            self.subject = subject
            self.identity = identity
        }
    }

    /// A person whom no identity names yet: the hash of an address, a number or a user record name, bound to the share.
    package struct Subject: Hashable, Sendable {
        /// The kind of name that was hashed.
        package enum Kind: UInt8, Hashable, Sendable {
            case email = 1
            case phone = 2
            case user = 3
        }

        /// The kind of name.
        package let kind: Kind
        let hash: [UInt8]

        init(kind: Kind, hash: [UInt8]) {
            self.kind = kind
            self.hash = hash
        }

        /// Creates the subject of a name.
        ///
        /// - Parameter text: The address or number in the form in which the cloud compares them, or the user record name.
        package init(_ kind: Kind, _ text: String, of share: RecordAddress) {
            self.kind = kind
            var frame = Frame("welkin share participant 1")
            frame.append(share.frame)
            frame.append([kind.rawValue])
            frame.append(text)
            hash = Array(SHA256.hash(data: frame.bytes))
        }
    }
}
