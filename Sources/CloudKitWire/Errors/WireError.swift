import CloudKitModel
import JSONBytes

/// The error object that answers a whole request (docs/web-services.md §5.1).
package struct WireError: Hashable, Sendable {
    /// The failure that the error reports.
    package var failure: RequestFailure
    /// The UUID of the request, for the operator's log.
    package var uuid: String?
    /// The page for signing in, with `authenticationRequired`.
    package var redirectURL: String?

    /// Creates a value with the given properties.
    package init(failure: RequestFailure, uuid: String? = nil, redirectURL: String? = nil) {
        self.failure = failure
        self.uuid = uuid
        self.redirectURL = redirectURL
    }

    /// Reads the answer to a request that was refused as a whole.
    ///
    /// - Parameter status: The HTTP status, which decides where the body is not an error object (a proxy's page, for
    ///   example).
    package init(wireAnswer bytes: [UInt8], status: Int) {
        var keys = ErrorKeys()
        do {
            try withJSON(bytes) { reader in
                try reader.object { reader, key in
                    if try !keys.read(key, &reader, zoneID: nil) { try reader.skipValue() }
                }
            }
        } catch {
            keys = ErrorKeys()
        }
        let byStatus = RequestFailure(
            RequestFailure.Code(httpStatus: status), "The server answered with HTTP status \(status).")
        self.init(failure: keys.failure ?? byStatus, uuid: keys.uuid, redirectURL: keys.redirectURL)
    }

    /// Prints the error object; the UUID is that of `style`.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("uuid")
        writer.string(uuid ?? style.requestUUID)
        failure.writeKeys(to: &writer, style: style)
        if failure.code == .authenticationRequired { writer.pair("redirectURL", redirectURL) }
        writer.endObject()
        return writer.bytes
    }
}

extension RequestFailure {
    /// Writes code, reason and details of an error, without its subject.
    func writeKeys(to writer: inout JSONWriter, style: WireStyle) {
        writer.key("serverErrorCode")
        writer.string(WireErrorCode(code).rawValue)
        writer.key("reason")
        writer.string(reason)
        writer.pair("retryAfter", seconds: retryAfter)
        guard style.isNative else { return }
        writer.pair("failure", code.rawValue)
        writer.pair("nativeCode", Int64(code.native.code))
        writer.pair("nativeSubcode", code.native.subcode.map(Int64.init))
        writer.pair("remedy", remedy)
        writer.pair("restoredTo", restoredTo)
        writer.pair("lastVersion", lastVersion.flatMap(Int64.init(exactly:)))
        guard let serverRecord = serverRecord?.value else { return }
        writer.key("serverRecord")
        // A conflict is resolved with the whole record, independently of the fields that the request named.
        var style = style
        style.desiredKeys = nil
        var printer = RecordPrinter(style: style)
        printer.write(serverRecord, to: &writer)
    }
}
