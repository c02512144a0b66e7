import CloudKitModel
import JSONBytes

/// The keys of a share in a request, among the keys of its record (docs/web-services.md §10.1).
///
/// The native surface adds `allowsAccessRequests`, `deniedRequesters`, `blockedIdentities`, `unblockedIdentities` (arrays of
/// user record names), `shareKeys`, and to participants `oneTime`.
struct ShareChangeReader {
    private var change = ShareChange()

    /// The maximum number of names in one of the lists of persons.
    private static let peopleMax = 500
    /// Participants of a request; the rules allow fewer.
    private static let participantsMax = 400

    /// The share change; nil if no key was one of a share.
    var result: ShareChange? { change.isEmpty ? nil : change }

    /// Reads the value of `key` if it is one of a share; false, nothing consumed, if it is not.
    mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws -> Bool {
        switch key {
        case "forRecord": if try !reader.readNull() { change.root = try ShareChange.Root(reading: &reader) }
        case "publicPermission":
            if try !reader.readNull() {
                change.publicPermission = try reader.word(ParticipantPermission.init(word:))
            }
        case "participants": if try !reader.readNull() { change.participants = try participants(&reader) }
        case "allowsAccessRequests": change.allowsAccessRequests = try reader.boolIfAny()
        case "deniedRequesters": change.denied = try Self.people(&reader)
        case "blockedIdentities": change.blocked = try Self.people(&reader)
        case "unblockedIdentities": change.unblocked = try Self.people(&reader)
        case "shareKeys": if try !reader.readNull() { change.keys = try ShareKeyChange(reading: &reader) }
        default: return false
        }
        return true
    }

    private func participants(_ reader: inout JSONReader) throws -> [ParticipantChange] {
        var participants: [ParticipantChange] = []
        try reader.array { reader in
            guard participants.count < Self.participantsMax else { throw RequestFailure.tooManyPeople }
            if let participant = try ParticipantChange(reading: &reader) { participants.append(participant) }
        }
        return participants
    }

    private static func people(_ reader: inout JSONReader) throws -> [UserID] {
        if try reader.readNull() { return [] }
        var people: [UserID] = []
        try reader.array { reader in
            guard people.count < peopleMax else { throw RequestFailure.tooManyPeople }
            people.append(UserID(try reader.lookupText()))
        }
        return people
    }
}

extension RequestFailure {
    fileprivate static let tooManyPeople = RequestFailure(
        .tooManyParticipants, "BadRequestException: too many people in one request",
        remedy: "A share takes 100 participants.")
}

extension ShareChange {
    func writeKeys(to writer: inout JSONWriter) {
        if let root {
            writer.key("forRecord")
            writer.beginObject()
            writer.pair("recordName", root.recordName)
            writer.pair("recordChangeTag", root.changeTag?.value)
            writer.endObject()
        }
        if let publicPermission {
            writer.key("publicPermission")
            writer.word(publicPermission.wireName)
        }
        if let participants {
            writer.key("participants")
            writer.beginArray()
            for participant in participants { participant.write(to: &writer) }
            writer.endArray()
        }
        writer.pair("allowsAccessRequests", allowsAccessRequests)
        writer.pair("deniedRequesters", denied.isEmpty ? nil : denied.map(\.recordName))
        writer.pair("blockedIdentities", blocked.isEmpty ? nil : blocked.map(\.recordName))
        writer.pair("unblockedIdentities", unblocked.isEmpty ? nil : unblocked.map(\.recordName))
        if let keys {
            writer.key("shareKeys")
            keys.write(to: &writer)
        }
    }
}

extension ShareChange.Root {
    fileprivate init(reading reader: inout JSONReader) throws {
        var name: String?
        var tag: String?
        try reader.object { reader, key in
            switch key {
            case "recordName": name = try reader.stringIfAny()
            case "recordChangeTag": tag = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let name else { throw RequestFailure.missing("recordName") }
        self.init(recordName: name, changeTag: tag.map { ChangeTag($0) })
    }
}

extension ParticipantChange {
    /// Reads a participant; nil for the owner's entry, which a share always has and which cannot be changed.
    fileprivate init?(reading reader: inout JSONReader) throws {
        self.init()
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "participantId": id = try reader.lookupText()
            case "type": role = try reader.word(ParticipantRole.init(word:))
            case "permission": permission = try reader.word(ParticipantPermission.init(word:))
            case "oneTime": isOneTime = try reader.bool()
            case "userIdentity":
                let identity = try PersonIdentity(reading: &reader)
                user = identity.user
                lookup = identity.lookup
            default: try reader.skipValue()
            }
        }
        if role == .owner { return nil }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("participantId", id)
        if let role {
            writer.key("type")
            writer.word(role.wireName)
        }
        if let permission {
            writer.key("permission")
            writer.word(permission.wireName)
        }
        if isOneTime { writer.pair("oneTime", true) }
        if user != nil || lookup != nil {
            writer.key("userIdentity")
            PersonIdentity(user: user, lookup: lookup)
                .write(to: &writer, style: WireStyle(surface: .web, caller: nil, requestUUID: ""))
        }
        writer.endObject()
    }
}
