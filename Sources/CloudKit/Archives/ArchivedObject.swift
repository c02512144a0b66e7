import Foundation

/// An object in a keyed archive: plain values by name, read without the decoder of any class.
///
/// Foundation's unarchiver ends the process when an archive refers to an object of a class that was not expected, and does not return from
/// objects that contain one another. Here the tables of the archive are read directly: a value that is missing, null or of another kind than
/// the one asked for is nil, and nesting is bounded.
struct ArchivedObject {
    /// A value in an archive besides null.
    enum Item {
        case number(NSNumber)
        case string(String)
        case data(Data)
        case date(Date)
        case object(ArchivedObject)
    }

    private let table: [Any]
    private let values: [String: Any]
    private let depth: Int

    /// The deepest genuine object is a name in an identity of a participant of a share of a metadata.
    private static let depthMax = 24

    private init(_ table: [Any], _ values: [String: Any], depth: Int) {
        self.table = table
        self.values = values
        self.depth = depth
    }

    /// The object that a coder is decoding; nil for coders other than Foundation's unarchiver.
    ///
    /// The tables are private to Foundation, and no other access to them avoids the decoders of classes. A Foundation in which they have
    /// other names is one in which this is nil; a test notices it.
    init?(_ coder: NSCoder) {
        guard coder is NSKeyedUnarchiver else { return nil }
        var mirror: Mirror? = Mirror(reflecting: coder)
        while let current = mirror, current.subjectType != NSKeyedUnarchiver.self { mirror = current.superclassMirror }
        var table: [Any]?
        var values: [String: Any]?
        for child in mirror?.children ?? Mirror.Children([]) {
            switch child.label {
            case "_objects": table = child.value as? [Any]
            case "_containers": values = (child.value as? [AnyObject])?.last.flatMap { Self.member("dict", of: $0) }
            default: break
            }
        }
        guard let table, let values else { return nil }
        self.init(table, values, depth: 0)
    }

    private static func member<Value>(_ name: String, of object: Any) -> Value? {
        Mirror(reflecting: object).children.first { $0.label == name }?.value as? Value
    }

    /// The name of the object's class in the archive.
    var className: String? {
        guard case .object(let described)? = item("$class") else { return nil }
        return described.values["$classname"] as? String
    }

    // MARK: Values

    /// The value of a key; nil: missing or null.
    func item(_ key: String) -> Item? {
        values[key].flatMap(item(of:))
    }

    func string(_ key: String) -> String? {
        if case .string(let text)? = item(key) { text } else { nil }
    }

    func data(_ key: String) -> Data? {
        if case .data(let bytes)? = item(key) { bytes } else { nil }
    }

    func date(_ key: String) -> Date? {
        if case .date(let date)? = item(key) { date } else { nil }
    }

    func number(_ key: String) -> NSNumber? {
        if case .number(let number)? = item(key) { number } else { nil }
    }

    func integer(_ key: String) -> Int? { number(key)?.intValue }

    func flag(_ key: String) -> Bool { number(key)?.boolValue ?? false }

    func object(_ key: String) -> ArchivedObject? {
        if case .object(let object)? = item(key) { object } else { nil }
    }

    /// The URL under a key, without regard to files: those need a path.
    func url(_ key: String) -> URL? {
        guard let archived = object(key), let text = archived.string("NS.relative"), !text.isEmpty else { return nil }
        return URL(string: text, relativeTo: archived.depth < Self.depthMax ? archived.url("NS.base") : nil)
    }

    // MARK: Collections

    /// The elements of the array or set under a key; null ones are left out.
    func items(_ key: String) -> [Item] { object(key)?.elements ?? [] }

    /// The elements of this array or set; null ones are left out.
    var elements: [Item] { references("NS.objects").compactMap(item(of:)) }

    /// The strings in the array or set under a key.
    func strings(_ key: String) -> [String] {
        items(key).compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// The dictionary under a key; null values and keys that are not strings are left out.
    func dictionary(_ key: String) -> [String: Item] {
        guard let archived = object(key) else { return [:] }
        var pairs: [String: Item] = [:]
        for (key, value) in zip(archived.references("NS.keys"), archived.references("NS.objects")) {
            if case .string(let name)? = archived.item(of: key), let value = archived.item(of: value) {
                pairs[name] = value
            }
        }
        return pairs
    }

    private func references(_ key: String) -> [Any] { values[key] as? [Any] ?? [] }

    // MARK: The archive's form

    private static let null = "$null"

    private func item(of value: Any) -> Item? {
        guard let value = resolved(value) else { return nil }
        switch value {
        case let text as String: return .string(text)
        case let data as Data: return .data(data)
        case let number as NSNumber: return .number(number)
        case let fields as [String: Any]:
            guard depth < Self.depthMax else { return nil }
            return ArchivedObject(table, fields, depth: depth + 1).unwrapped
        default: return nil
        }
    }

    /// The value that a reference leads to; a value that is no reference as it is.
    private func resolved(_ value: Any) -> Any? {
        guard let index = Self.index(value) else { return value }
        guard index < table.count else { return nil }
        let object = table[index]
        return object as? String == Self.null || Self.index(object) != nil ? nil : object
    }

    private static func index(_ value: Any) -> Int? {
        guard String(describing: type(of: value)) == "_NSKeyedArchiverUID" else { return nil }
        let number: UInt32? = member("value", of: value)
        return number.map { Int($0) }
    }

    /// The value that this object stands for, where it is one of Foundation's.
    private var unwrapped: Item? {
        switch values["$class"] == nil ? nil : className {
        case "NSNull": nil
        case "NSString", "NSMutableString": string("NS.string").map { .string($0) }
        case "NSData", "NSMutableData": data("NS.data").map { .data($0) }
        case "NSDate": number("NS.time").map { .date(Date(timeIntervalSinceReferenceDate: $0.doubleValue)) }
        default: .object(self)
        }
    }
}
