import CloudKit

/// The field-by-field merge of two devices' edits of one contact.
///
/// A field that only one side changed takes that side's value. If both changed it, a list keeps the elements that either added
/// and drops those that either removed, notes are concatenated, and other fields take the server's value.
struct ContactMerge {
    enum Origin: String {
        case unchanged, server, here, both
    }

    struct Line {
        var key: ContactKey
        var ancestor: ContactValue?
        var server: ContactValue?
        var here: ContactValue?
        var merged: ContactValue?
        var origin: Origin
    }

    let merged: Contact
    /// One entry for each field that at least one side changed.
    let lines: [Line]

    init(ancestor: Contact, server: Contact, here: Contact) {
        var merged = server
        var lines: [Line] = []
        for key in ContactKey.allCases {
            let (value, origin) = Self.merge(
                key, ancestor: ancestor.values[key], server: server.values[key], here: here.values[key])
            merged.values[key] = value
            guard origin != .unchanged else { continue }
            lines.append(
                Line(
                    key: key, ancestor: ancestor.values[key], server: server.values[key], here: here.values[key],
                    merged: value, origin: origin))
        }
        self.merged = merged
        self.lines = lines
    }

    private static func merge(
        _ key: ContactKey, ancestor: ContactValue?, server: ContactValue?, here: ContactValue?
    ) -> (ContactValue?, Origin) {
        if server == here { return (server, server == ancestor ? .unchanged : .both) }
        if here == ancestor { return (server, .server) }
        if server == ancestor { return (here, .here) }
        switch (key, server, here) {
        case (_, .list(let server), .list(let here)):
            return (.list(union(ancestor: ancestor, server: server, here: here)), .both)
        case (.note, .text(let server), .text(let here)):
            return (.text(server + "\n" + here), .both)
        default:
            return (server, .server)
        }
    }

    private static func union(ancestor: ContactValue?, server: [String], here: [String]) -> [String] {
        guard case .list(let before) = ancestor else {
            return server + here.filter { !server.contains($0) }
        }
        let kept = server.filter { here.contains($0) || !before.contains($0) }
        return kept + here.filter { !server.contains($0) && !before.contains($0) }
    }
}
