import HTTPTypes
import NIOCore

/// The head of a response, as it is sent.
///
/// An object: it is handed to the connection's event loop without a copy of each of its texts. The fields of nearly all responses have
/// no place in the list of the others, which costs several times as much.
package final class ResponseHead: Sendable {
    /// The status.
    package let status: HTTPResponse.Status
    private let requestUUID: String?
    private let contentType: String?
    /// The length of a body that is not sent with the head as a whole.
    private let contentLength: Int?
    /// The other header fields.
    private let fields: HTTPFields

    init(
        status: HTTPResponse.Status, requestUUID: String? = nil, contentType: String? = nil, contentLength: Int? = nil,
        fields: HTTPFields = HTTPFields()
    ) {
        self.status = status
        self.requestUUID = requestUUID
        self.contentType = contentType
        self.contentLength = contentLength
        self.fields = fields
    }

    /// All header fields but length and date.
    package var headers: HTTPFields {
        var headers = fields
        headers[HeaderName.requestUUID] = requestUUID
        if let contentType { headers[.contentType] = contentType }
        return headers
    }

    /// Whether responses of this status have a length: not those without content (RFC 9110 §8.6).
    private var hasLength: Bool { status != .noContent && status != .notModified && status.kind != .informational }

    /// Writes status and header fields (RFC 9112 §2.1). Fields have been checked for line ends when they were made.
    ///
    /// - Parameters:
    ///   - byteCount: The length of a body that is sent with the head.
    ///   - date: The time, as responses carry it.
    func write(to buffer: inout ByteBuffer, byteCount: Int, date: String) {
        buffer.writeString("HTTP/1.1 ")
        buffer.writeString(String(status.code))
        buffer.writeString(" ")
        buffer.writeString(status.reasonPhrase)
        buffer.writeString("\r\n")
        if let requestUUID { Self.write("X-Apple-Request-UUID", requestUUID, to: &buffer) }
        for field in fields { Self.write(field.name.rawName, field.value, to: &buffer) }
        if let contentType { Self.write("Content-Type", contentType, to: &buffer) }
        if hasLength { Self.write("Content-Length", String(contentLength ?? byteCount), to: &buffer) }
        Self.write("Date", date, to: &buffer)
        buffer.writeString("\r\n")
    }

    private static func write(_ name: String, _ value: String, to buffer: inout ByteBuffer) {
        buffer.writeString(name)
        buffer.writeString(": ")
        buffer.writeString(value)
        buffer.writeString("\r\n")
    }
}
