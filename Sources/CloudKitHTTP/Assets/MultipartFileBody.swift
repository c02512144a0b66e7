import CloudKitModel

/// Takes the file out of a body of type `multipart/form-data` while it arrives (RFC 7578): the contents of the first part
/// that names a file.
///
/// Keeps no more than one chunk and the length of a delimiter in memory.
struct MultipartFileBody: Sendable {
    private enum State {
        /// Before the first delimiter.
        case preamble
        /// In the header fields of a part.
        case fields
        /// In a part that is passed over.
        case otherPart
        /// In the part of the file.
        case file
        /// Behind the file; what follows is not looked at.
        case end
    }

    private let delimiter: [UInt8]
    private var state = State.preamble
    private var pending: [UInt8]
    /// A Boolean value that indicates whether a part that names a file has begun.
    private var hasFile = false

    private static let lineEnd: [UInt8] = [13, 10]
    private static let fieldsEnd: [UInt8] = [13, 10, 13, 10]
    /// The header fields of a part have at most this many bytes.
    private static let fieldsMax = 16_384

    /// Creates a reader of a body; nil if the content type is another one.
    ///
    /// - Throws: `badRequest` for a type without a usable boundary.
    init?(contentType: String?) throws(RequestFailure) {
        guard let contentType else { return nil }
        let parts = contentType.split(separator: ";").map { $0.drop { $0 == " " || $0 == "\t" } }
        guard let type = parts.first, type.lowercased().hasPrefix("multipart/form-data") else { return nil }
        let boundary = parts.dropFirst().first { $0.lowercased().hasPrefix("boundary=") }?.dropFirst(9)
        let text = boundary.map { $0.filter { $0 != "\"" } } ?? ""
        guard (1...70).contains(text.utf8.count) else {
            throw RequestFailure(
                .badRequest, "a body of type multipart/form-data needs a boundary of 1 to 70 characters",
                remedy: "Name it in Content-Type, or send the file alone as the body.")
        }
        delimiter = Self.lineEnd + Array("--\(text)".utf8)
        // The first delimiter may begin the body.
        pending = Self.lineEnd
    }

    /// Takes the next bytes of the body and returns those of the file among them.
    ///
    /// - Throws: `badRequest` for a part whose header fields do not end.
    mutating func take(_ bytes: [UInt8]) throws(RequestFailure) -> [UInt8] {
        if state == .end { return [] }
        pending += bytes
        var file: [UInt8] = []
        while true {
            switch state {
            case .preamble, .otherPart, .file:
                let found = Self.position(of: delimiter, in: pending)
                let end = found ?? max(0, pending.count - delimiter.count + 1)
                if state == .file { file += pending[..<end] }
                pending.removeFirst(found == nil ? end : end + delimiter.count)
                if found == nil { return file }
                if state == .file {
                    state = .end
                    pending = []
                    return file
                }
                state = .fields
            case .fields:
                if pending.starts(with: Array("--".utf8)) {
                    state = .end
                    pending = []
                    return file
                }
                guard let end = Self.position(of: Self.fieldsEnd, in: pending) else {
                    guard pending.count <= Self.fieldsMax else { throw Self.malformed }
                    return file
                }
                guard end <= Self.fieldsMax else { throw Self.malformed }
                hasFile = Self.namesFile(pending[..<end])
                state = hasFile ? .file : .otherPart
                pending.removeFirst(end + Self.fieldsEnd.count)
            case .end: return file
            }
        }
    }

    /// Ends the body.
    ///
    /// - Throws: `badRequest` for a body that broke off before the end of a file, or without a file.
    func finish() throws(RequestFailure) {
        guard state == .end, hasFile else { throw Self.malformed }
    }

    private static let malformed = RequestFailure(
        .badRequest, "the body of type multipart/form-data has no complete file",
        remedy: "Send one part with a file name, or the file alone as the body.")

    private static func namesFile(_ fields: ArraySlice<UInt8>) -> Bool {
        String(decoding: fields, as: UTF8.self).split(separator: "\r\n").contains { line in
            let line = line.lowercased()
            return line.hasPrefix("content-disposition:") && line.contains("filename")
        }
    }

    /// Returns where a sequence of bytes first occurs; nil where it does not.
    private static func position(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= needle.count else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                var start = 0
                while start + needle.count <= bytes.count {
                    if bytes[start] == needle[0] {
                        var length = 1
                        while length < needle.count, bytes[start + length] == needle[length] { length += 1 }
                        if length == needle.count { return start }
                    }
                    start += 1
                }
                return nil
            }
        }
    }
}
