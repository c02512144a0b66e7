import HTTPTypes
import TextEncodings

/// The operation that a request of our own SDK belongs to, for the log.
struct OperationLabels: Hashable {
    var operation: String?
    var group: String?
    var groupName: String?
    var groupQuantity: String?
    var expectedSend: String?
    var expectedReceive: String?

    init(_ headers: HTTPFields) {
        operation = Self.label(headers[HeaderName.operation])
        group = Self.label(headers[HeaderName.operationGroup])
        groupName = Self.label(headers[HeaderName.operationGroupName])
        groupQuantity = Self.label(headers[HeaderName.groupQuantity])
        expectedSend = Self.label(headers[HeaderName.groupExpectedSend])
        expectedReceive = Self.label(headers[HeaderName.groupExpectedReceive])
    }

    /// Returns a text short and printable: it comes from outside and ends up in a log.
    static func label(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
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
