import TextEncodings

/// The fields of a query or of a form that was sent, in their order.
struct FormFields: Sendable {
    private var values: [(name: String, value: String)] = []

    /// Fields beyond these are ignored.
    static let fieldsMax = 2000

    /// Creates fields of a form that was not sent.
    init() {}

    /// Reads `application/x-www-form-urlencoded`; fields that are not UTF-8 are left out.
    init(_ text: some Sequence<UInt8>) {
        for pair in Array(text).split(separator: UInt8(ascii: "&")).prefix(Self.fieldsMax) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = parts.count > 1 ? Self.decoded(parts[1]) : "" else {
                continue
            }
            values.append((name, value))
        }
    }

    /// The value of the first field with a name; nil for none, and for an empty one.
    subscript(name: String) -> String? {
        values.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// Returns the value of the first field with a name, without a change; nil for none.
    func exact(_ name: String) -> String? { values.first { $0.name == name }?.value }

    /// Returns the values of all fields with a name, empty ones too.
    func all(_ name: String) -> [String] { values.filter { $0.name == name }.map(\.value) }

    /// Returns whether there is a field with a name, such as a box that was ticked.
    func has(_ name: String) -> Bool { values.contains { $0.name == name } }

    /// The names, each once.
    var names: Set<String> { Set(values.map(\.name)) }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        // Browsers send line breaks as CR LF.
        return String(percentEncoded: spaced)?.replacing("\r\n", with: "\n")
    }
}
