import CloudKit

/// The value of a contact's field.
enum ContactValue: Hashable {
    case text(String)
    case list([String])
    case date(Date)

    /// Reads a value of a record; nil for a type that contacts do not have.
    init?(_ value: (any CKRecordValueProtocol)?) {
        if let text = value as? String {
            self = .text(text)
        } else if let list = value as? [String] {
            self = .list(list)
        } else if let date = value as? Date {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// The value as one line of text.
    var shown: String {
        switch self {
        case .text(let text): text.replacingOccurrences(of: "\n", with: " / ")
        case .list(let list): list.joined(separator: ", ")
        case .date(let date): date.formatted(.iso8601)
        }
    }
}
