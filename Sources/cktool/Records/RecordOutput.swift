/// Records in the form that Apple's tool prints: types as `stringType`, times in ISO 8601.
enum RecordOutput {
    /// Returns a record of an answer of web services in the printed form.
    static func record(_ wire: JSONTree) -> JSONTree {
        var printed: [String: JSONTree] = [:]
        for key in [
            "recordName", "recordType", "recordChangeTag", "parent", "share", "participants", "owner",
            "currentUserParticipant", "publicPermission", "publicPerm",
        ] {
            printed[key] = wire[key]
        }
        printed["shortGuid"] = wire["shortGUID"]
        printed["zone"] = wire["zoneID"]
        printed["created"] = wire["created"].map(change)
        printed["modified"] = wire["modified"].map(change)
        printed["fields"] = .object((wire["fields"]?.object ?? [:]).mapValues(field))
        return .object(printed)
    }

    private static func change(_ wire: JSONTree) -> JSONTree {
        var printed: [String: JSONTree] = [:]
        printed["timestamp"] = wire["timestamp"].map(time)
        printed["userRecordName"] = wire["userRecordName"]
        printed["deviceId"] = wire["deviceID"]
        return .object(printed)
    }

    private static func field(_ wire: JSONTree) -> JSONTree {
        guard let name = wire["type"]?.text, let type = FieldKind(name) else { return wire }
        var printed: [String: JSONTree] = ["type": .text(type.name)]
        printed["isEncrypted"] = wire["isEncrypted"]
        let value = wire["value"] ?? .null
        printed["value"] =
            if type.isList, let items = value.list { .list(items.map { convert($0, type.scalar) }) } else {
                convert(value, type.scalar)
            }
        return .object(printed)
    }

    private static func convert(_ value: JSONTree, _ scalar: FieldKind.Scalar) -> JSONTree {
        switch (scalar, value) {
        case (.timestamp, _): return time(value)
        case (.location, .object(var members)):
            if let timestamp = members["timestamp"] { members["timestamp"] = time(timestamp) }
            return .object(members)
        case (.asset, .object(var members)):
            if let url = members.removeValue(forKey: "downloadURL") { members["downloadUrl"] = url }
            return .object(members)
        default: return value
        }
    }

    private static func time(_ value: JSONTree) -> JSONTree {
        value.integer.map { .text(TimestampText.text($0)) } ?? value
    }
}
