import CloudKitModel
import JSONBytes

/// The keys that a share's record has besides those of every record (docs/web-services.md §10.1).
///
/// The native surface adds `rootRecordName`, `allowsAccessRequests`, `shareKeys`, and to participants `keyEpoch`,
/// `keyIdentity`, `grantEpoch`, `dateAdded`, `isApprovedRequester`, `oneTimeShortGUID`.
extension Share {
    func writeKeys(to writer: inout JSONWriter, style: WireStyle) {
        writer.key("publicPermission")
        writer.word(publicPermission.wireName)
        writer.key("participants")
        writer.beginArray()
        for participant in participants { participant.write(to: &writer, style: style) }
        writer.endArray()
        if let owner {
            writer.key("owner")
            owner.write(to: &writer, style: style)
        }
        if let currentParticipant {
            writer.key("currentUserParticipant")
            currentParticipant.write(to: &writer, style: style)
        }
        writer.people("requesters", requesters, style: style)
        writer.people("blocked", blocked, style: style)
        guard style.isNative else { return }
        writer.pair("rootRecordName", root)
        writer.pair("allowsAccessRequests", allowsAccessRequests)
        if let keys {
            writer.key("shareKeys")
            keys.write(to: &writer)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func people(_ key: StaticString, _ people: [PersonIdentity], style: WireStyle) {
        if people.isEmpty { return }
        self.key(key)
        beginArray()
        for person in people {
            beginObject()
            self.key("userIdentity")
            person.write(to: &self, style: style)
            endObject()
        }
        endArray()
    }
}

extension ShareParticipant {
    func write(to writer: inout JSONWriter, style: WireStyle) {
        writer.beginObject()
        writer.pair("participantId", id)
        writer.key("type")
        writer.word(role.wireName)
        writer.key("permission")
        writer.word(permission.wireName)
        writer.key("acceptanceStatus")
        writer.word(acceptance.wireName)
        writer.key("userIdentity")
        identity.write(to: &writer, style: style)
        if isApprovedRequester { writer.pair("isApprovedRequester", true) }
        if style.isNative {
            writer.pair("oneTimeShortGUID", oneTimeGUID)
            writer.pair("dateAdded", added)
            writer.pair("keyEpoch", keyEpoch.map(Int64.init))
            writer.pair("keyIdentity", keyIdentity)
            writer.pair("grantEpoch", grantEpoch.map(Int64.init))
            writer.pair("linkProof", base64: linkProof)
        }
        writer.endObject()
    }

    init(reading reader: inout JSONReader) throws {
        self.init(id: "", role: .unknown, permission: .unknown, acceptance: .unknown)
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "participantId": id = try reader.lookupText()
            case "type": role = try reader.word(ParticipantRole.init(word:))
            case "permission": permission = try reader.word(ParticipantPermission.init(word:))
            case "acceptanceStatus": acceptance = try reader.word(ParticipantAcceptance.init(word:))
            case "userIdentity": identity = try PersonIdentity(reading: &reader)
            case "isApprovedRequester": isApprovedRequester = try reader.bool()
            case "oneTimeShortGUID": oneTimeGUID = try reader.lookupText()
            case "dateAdded": added = try reader.int64()
            case "keyEpoch": keyEpoch = try reader.intIfAny()
            case "keyIdentity": keyIdentity = try reader.lookupText()
            case "grantEpoch": grantEpoch = try reader.intIfAny()
            case "linkProof": linkProof = try reader.base64IfAny()
            default: try reader.skipValue()
            }
        }
    }
}

/// Collects the keys of a share while a record's dictionary is read.
struct ShareKeysOfRecord {
    private var share = Share(root: nil)
    private var isShare = false

    /// Reads the value of `key` if it is one of a share; false, nothing consumed, if it is not.
    mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws -> Bool {
        switch key {
        case "publicPermission": share.publicPermission = try reader.word(ParticipantPermission.init(word:))
        case "participants": try reader.array { share.participants.append(try ShareParticipant(reading: &$0)) }
        case "owner": try reader.skipValue()
        case "currentUserParticipant": share.currentParticipantID = try ShareParticipant(reading: &reader).id
        case "requesters": share.requesters = try reader.people()
        case "blocked": share.blocked = try reader.people()
        case "rootRecordName": share.root = try reader.string()
        case "allowsAccessRequests": share.allowsAccessRequests = try reader.bool()
        case "shareKeys": share.keys = try ShareKeys(reading: &reader)
        default: return false
        }
        isShare = true
        return true
    }

    func share(ofType recordType: String) -> Share? {
        isShare && recordType == Validity.shareRecordType ? share : nil
    }
}

extension JSONReader {
    fileprivate mutating func people() throws -> [PersonIdentity] {
        var people: [PersonIdentity] = []
        try array { reader in
            try reader.object { reader, key in
                if key == "userIdentity" {
                    people.append(try PersonIdentity(reading: &reader))
                } else {
                    try reader.skipValue()
                }
            }
        }
        return people
    }
}
