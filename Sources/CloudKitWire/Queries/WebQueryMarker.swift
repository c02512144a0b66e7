import CloudKitModel
import TextEncodings

/// A continuation marker of web services: it carries its query, because clients may send it without (docs/web-services.md §6.4).
///
/// The query in it need not be authentic: the cloud's own marker beside it opens for the query alone that it was made for.
struct WebQueryMarker {
    /// The cloud's marker.
    var marker: String
    /// The request of which it is a continuation, as a body without a marker.
    var request: [UInt8]

    /// The first bytes of the form. The cloud's own markers begin with random ones.
    private static let beginning = Array("welkin web query 1\n".utf8)

    /// Creates the marker of the page that follows a request's.
    init(_ marker: String, of request: QueryRecordsRequest) {
        var request = request
        request.continuationMarker = nil
        self.marker = marker
        self.request = request.wire()
    }

    /// Reads a marker that a client sent; nil for one of another form.
    init?(_ text: String) {
        guard let bytes = Base64.decode(text), bytes.starts(with: Self.beginning) else { return nil }
        let rest = bytes[Self.beginning.count...]
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        marker = String(decoding: rest[..<end], as: UTF8.self)
        request = Array(rest[(end + 1)...])
    }

    /// The text of the marker, in standard base64 with its padding.
    var text: String { Base64.encode(Self.beginning + Array(marker.utf8) + [UInt8(ascii: "\n")] + request) }
}
