import Foundation

/// A dictionary of a notification, whose values may have any type.
struct PayloadDictionary {
    private let values: [AnyHashable: Any]

    init(_ values: [AnyHashable: Any]) { self.values = values }

    init?(_ value: Any?) {
        switch value {
        case let values as [AnyHashable: Any]: self.init(values)
        case let values as [String: Any]: self.init(values.reduce(into: [:]) { $0[$1.key] = $1.value })
        case let values as NSDictionary:
            var plain: [AnyHashable: Any] = [:]
            for (key, value) in values {
                if let key = key as? String { plain[key] = value }
            }
            self.init(plain)
        default: return nil
        }
    }

    func dictionary(_ key: String) -> PayloadDictionary? { PayloadDictionary(values[key]) }

    func text(_ key: String) -> String? {
        if let text = values[key] as? NSString { return text as String }
        return values[key] as? String
    }

    func texts(_ key: String) -> [String]? {
        guard let list = values[key] as? [Any] else { return nil }
        return list.compactMap { ($0 as? String) ?? ($0 as? NSString).map { $0 as String } }
    }

    func number(_ key: String) -> NSNumber? {
        switch values[key] {
        case let number as NSNumber: number
        case let number as Int: NSNumber(value: number)
        case let number as Int64: NSNumber(value: number)
        case let number as Double: NSNumber(value: number)
        case let flag as Bool: NSNumber(value: flag)
        default: nil
        }
    }

    func integer(_ key: String) -> Int? { number(key)?.intValue }

    /// Everything in it, by text.
    var entries: [(key: String, value: Any)] {
        values.compactMap { key, value in (key.base as? String).map { ($0, value) } }
    }
}
