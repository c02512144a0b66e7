extension PushNotification {
    /// Bytes of a payload: what every courier carries. Apple's service takes 4096; so does Web Push, with 103 for its
    /// encryption (RFC 8291 §4).
    package static let payloadBytesMax = 3993

    /// The payload, if need be without the parts that documented order gives up first (B-PSH-07).
    package func payload(bytesMax: Int = payloadBytesMax) -> [UInt8] {
        var notification = self
        var bytes = notification.json()
        for part in Part.allCases where bytes.count > bytesMax {
            notification.drop(part)
            notification.isPruned = true
            bytes = notification.json()
        }
        return bytes
    }

    /// The parts in the order in which they are pruned. Texts that the documentation does not name follow related ones.
    private enum Part: CaseIterable {
        case fields, container, typeKeys, sound, launchImage, actionKey, body, arguments, key, badge, id, category
    }

    private mutating func drop(_ part: Part) {
        switch part {
        case .fields: withNote { $0.fields = [] }
        case .container: container = nil
        case .typeKeys:
            withNote {
                $0.recordName = nil
                $0.zoneID = nil
            }
        case .sound: presentation.soundName = nil
        case .launchImage: presentation.alertLaunchImage = nil
        case .actionKey: presentation.alertActionLocalizationKey = nil
        case .body:
            presentation.alertBody = nil
            presentation.title = nil
            presentation.subtitle = nil
        case .arguments:
            presentation.alertLocalizationArgs = []
            presentation.titleLocalizationArgs = []
            presentation.subtitleLocalizationArgs = []
        case .key:
            presentation.alertLocalizationKey = nil
            presentation.titleLocalizationKey = nil
            presentation.subtitleLocalizationKey = nil
        case .badge: presentation.shouldBadge = false
        case .id: id = nil
        case .category: presentation.category = nil
        }
    }

    private mutating func withNote(_ change: (inout RecordChangeNote) -> Void) {
        guard case .query(var note) = subject else { return }
        change(&note)
        subject = .query(note)
    }
}
