import JSONBytes

extension PushNotification {
    /// Returns a Boolean value that indicates whether a payload has something to show or to play (B-PSH-03).
    package static func isVisible(payload: [UInt8]) -> Bool {
        let found = try? withJSON(payload) { reader in
            var found = false
            try reader.object { reader, key in
                guard key == "aps" else { return try reader.skipValue() }
                try reader.object { reader, key in
                    switch key {
                    case "alert", "badge", "sound": found = true
                    default: break
                    }
                    try reader.skipValue()
                }
            }
            return found
        }
        return found ?? false
    }

    /// The payload as it is: `aps` and `ck` (B-NTF-01 to B-NTF-04).
    func json() -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("aps")
        writeAPS(to: &writer)
        writer.key("ck")
        writer.beginObject()
        writer.key("ce")
        writer.int64(2)
        writer.key("ckuserid")
        writer.string(user.recordName)
        writer.key("aux")
        writer.object { _ in }
        write("nid", id, to: &writer)
        write("cid", container?.name, to: &writer)
        writer.key("p")
        writer.int64(isPruned ? 1 : 0)
        writeSubject(to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    private func writeSubject(to writer: inout JSONWriter) {
        switch subject {
        case nil: return
        case .query(let note):
            writer.key("qry")
            writer.beginObject()
            writeSubscription(to: &writer)
            write("rid", note.recordName, to: &writer)
            writer.key("fo")
            writer.int64(Int64(note.event.rawValue))
            write(note.zoneID, to: &writer)
            write(note.fields, to: &writer)
        case .zone(let zoneID):
            writer.key("fet")
            writer.beginObject()
            writeSubscription(to: &writer)
            write(zoneID, to: &writer)
        case .database:
            writer.key("met")
            writer.beginObject()
            writeSubscription(to: &writer)
        }
        writer.endObject()
    }

    private func writeSubscription(to writer: inout JSONWriter) {
        writer.key("sid")
        writer.string(subscriptionID)
        writer.key("dbs")
        writer.int64(Int64(scope.rawValue))
    }

    private func write(_ zoneID: ZoneID?, to writer: inout JSONWriter) {
        guard let zoneID else { return }
        writer.key("zid")
        writer.string(zoneID.zoneName)
        writer.key("zoid")
        writer.string(zoneID.owner.recordName)
    }

    /// Texts and numbers are written without a type, as on the live service; values for which JSON has no form carry
    /// their type.
    private func write(_ fields: [Field], to writer: inout JSONWriter) {
        if fields.isEmpty { return }
        writer.key("af")
        writer.beginObject()
        for field in fields {
            writer.key(field.name)
            switch field.type.base {
            case .string, .int64, .double: writer.raw(field.json)
            default:
                writer.beginObject()
                writer.key("value")
                writer.raw(field.json)
                writer.key("type")
                writer.string(field.type.description)
                writer.endObject()
            }
        }
        writer.endObject()
    }

    // MARK: What people see

    private func writeAPS(to writer: inout JSONWriter) {
        writer.beginObject()
        writeAlert(to: &writer)
        if presentation.shouldBadge {
            writer.key("badge")
            writer.int64(1)
        }
        write("sound", presentation.soundName, to: &writer)
        write("category", presentation.category, to: &writer)
        // Without anything to show or hear a push is silent, asked for or not (B-PSH-03).
        if presentation.shouldSendContentAvailable || !presentation.isVisible {
            writer.key("content-available")
            writer.int64(1)
        }
        if presentation.shouldSendMutableContent {
            writer.key("mutable-content")
            writer.int64(1)
        }
        writer.endObject()
    }

    /// A key for a localised text wins over the text itself (B-PSH-05).
    private func writeAlert(to writer: inout JSONWriter) {
        let parts = alertParts
        if parts.isEmpty { return }
        writer.key("alert")
        if parts.count == 1, case ("body", .text(let body)) = parts[0] { return writer.string(body) }
        writer.beginObject()
        for (key, part) in parts {
            writer.key(key)
            switch part {
            case .text(let text): writer.string(text)
            case .list(let values):
                writer.beginArray()
                for value in values { writer.string(value) }
                writer.endArray()
            }
        }
        writer.endObject()
    }

    private enum AlertPart {
        case text(String)
        case list([String])
    }

    private var alertParts: [(String, AlertPart)] {
        var parts: [(String, AlertPart)] = []
        func add(_ key: String, _ text: String?) {
            if let text { parts.append((key, .text(text))) }
        }
        func add(_ name: String, _ text: String?, prefix: String, key: String?, arguments: [String]) {
            guard let key else { return add(name, text) }
            add(prefix + "loc-key", key)
            if !arguments.isEmpty { parts.append((prefix + "loc-args", .list(arguments))) }
        }
        let info = presentation
        add(
            "title", info.title, prefix: "title-", key: info.titleLocalizationKey, arguments: info.titleLocalizationArgs
        )
        add(
            "subtitle", info.subtitle, prefix: "subtitle-", key: info.subtitleLocalizationKey,
            arguments: info.subtitleLocalizationArgs)
        add("body", info.alertBody, prefix: "", key: info.alertLocalizationKey, arguments: info.alertLocalizationArgs)
        add("action-loc-key", info.alertActionLocalizationKey)
        add("launch-image", info.alertLaunchImage)
        return parts
    }

    private func write(_ key: StaticString, _ text: String?, to writer: inout JSONWriter) {
        guard let text else { return }
        writer.key(key)
        writer.string(text)
    }
}
