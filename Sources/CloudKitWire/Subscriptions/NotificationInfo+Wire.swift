import CloudKitModel
import JSONBytes

/// Keys beyond docs/web-services.md §9 (titles, subtitles, mutable content, collapse identifier) go by the names of the
/// framework.
extension NotificationInfo {
    init(reading reader: inout JSONReader) throws {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "alertBody": alertBody = try reader.string()
            case "alertLocalizationKey": alertLocalizationKey = try reader.string()
            case "alertLocalizationArgs": alertLocalizationArgs = try reader.stringsIfAny() ?? []
            case "title": title = try reader.string()
            case "titleLocalizationKey": titleLocalizationKey = try reader.string()
            case "titleLocalizationArgs": titleLocalizationArgs = try reader.stringsIfAny() ?? []
            case "subtitle": subtitle = try reader.string()
            case "subtitleLocalizationKey": subtitleLocalizationKey = try reader.string()
            case "subtitleLocalizationArgs": subtitleLocalizationArgs = try reader.stringsIfAny() ?? []
            case "alertActionLocalizationKey": alertActionLocalizationKey = try reader.string()
            case "alertLaunchImage": alertLaunchImage = try reader.string()
            case "soundName": soundName = try reader.string()
            case "shouldBadge": shouldBadge = try reader.bool()
            case "shouldSendContentAvailable": shouldSendContentAvailable = try reader.bool()
            case "shouldSendMutableContent": shouldSendMutableContent = try reader.bool()
            case "additionalFields": additionalFields = try reader.stringsIfAny() ?? []
            case "category": category = try reader.string()
            case "collapseIDKey": collapseIDKey = try reader.string()
            default: try reader.skipValue()
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("alertBody", alertBody)
        writer.pair("alertLocalizationKey", alertLocalizationKey)
        writer.list("alertLocalizationArgs", alertLocalizationArgs)
        writer.pair("title", title)
        writer.pair("titleLocalizationKey", titleLocalizationKey)
        writer.list("titleLocalizationArgs", titleLocalizationArgs)
        writer.pair("subtitle", subtitle)
        writer.pair("subtitleLocalizationKey", subtitleLocalizationKey)
        writer.list("subtitleLocalizationArgs", subtitleLocalizationArgs)
        writer.pair("alertActionLocalizationKey", alertActionLocalizationKey)
        writer.pair("alertLaunchImage", alertLaunchImage)
        writer.pair("soundName", soundName)
        writer.flag("shouldBadge", shouldBadge)
        writer.flag("shouldSendContentAvailable", shouldSendContentAvailable)
        writer.flag("shouldSendMutableContent", shouldSendMutableContent)
        writer.list("additionalFields", additionalFields)
        writer.pair("category", category)
        writer.pair("collapseIDKey", collapseIDKey)
        writer.endObject()
    }
}

extension JSONWriter {
    /// A list that is absent when it is empty.
    fileprivate mutating func list(_ key: StaticString, _ values: [String]) {
        if !values.isEmpty { pair(key, values) }
    }

    /// A flag that is absent when it is not set.
    fileprivate mutating func flag(_ key: StaticString, _ value: Bool) {
        if value { pair(key, value) }
    }
}
