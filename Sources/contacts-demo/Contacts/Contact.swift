import CloudKit

/// A person of the address book.
struct Contact: Hashable {
    /// The name of this person's record, which is stable for a card.
    var recordName: String
    var values: [ContactKey: ContactValue]

    var fullName: String { text(.fullName) }
    var familyName: String { text(.familyName) }
    var givenName: String { text(.givenName) }

    func text(_ key: ContactKey) -> String {
        if case .text(let text) = values[key] { text } else { "" }
    }

    /// Sets a field; an empty text or list removes it (records store no empty values, B-REC-01, B-REC-12).
    mutating func set(_ key: ContactKey, _ text: String?) {
        let trimmed = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        values[key] = trimmed.isEmpty ? nil : .text(trimmed)
    }

    mutating func set(_ key: ContactKey, _ list: [String]) {
        let entries = list.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
        values[key] = entries.isEmpty ? nil : .list(entries)
    }
}
