import TextEncodings

/// The operation that a request of our own SDK belongs to, for the log.
struct OperationLabels: Hashable {
    private(set) var operation: String?
    private(set) var group: String?
    private(set) var groupName: String?
    private(set) var groupQuantity: String?
    private(set) var expectedSend: String?
    private(set) var expectedReceive: String?

    /// Takes the value of a header field if it is a label.
    ///
    /// - Returns: Whether it is one.
    mutating func take(_ field: RequestHeader) -> Bool {
        if field.isNamed("x-welkin-operation") {
            operation = Self.label(field.value)
        } else if field.isNamed("x-welkin-operation-group") {
            group = Self.label(field.value)
        } else if field.isNamed("x-welkin-operation-group-name") {
            groupName = Self.label(field.value)
        } else if field.isNamed("x-welkin-group-quantity") {
            groupQuantity = Self.label(field.value)
        } else if field.isNamed("x-welkin-group-expected-send") {
            expectedSend = Self.label(field.value)
        } else if field.isNamed("x-welkin-group-expected-receive") {
            expectedReceive = Self.label(field.value)
        } else {
            return false
        }
        return true
    }

    /// Returns a text short and printable: it comes from outside and ends up in a log.
    private static func label(_ text: String) -> String? {
        guard !text.isEmpty else { return nil }
        // Most are identifiers.
        if text.utf8.count <= 100, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }) {
            return text
        }
        let decoded = String(percentEncoded: text.utf8) ?? text
        return String(
            String.UnicodeScalarView(decoded.unicodeScalars.prefix(100).map { $0.properties.isPrintable ? $0 : "?" }))
    }
}

extension Unicode.Scalar.Properties {
    /// Whether a character is neither a control nor one that moves or hides other text.
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
