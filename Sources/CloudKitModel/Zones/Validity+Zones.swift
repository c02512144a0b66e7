extension Validity {
    /// Checks the name of a zone that a client makes: 1 to 255 ASCII characters, not beginning with `_` (B-LIM-11).
    ///
    /// - Throws: `badRequest`; also for `_defaultZone`, which clients cannot make.
    package static func newZoneName(_ name: String) throws(RequestFailure) {
        guard isPlainName(name), name.utf8.first != UInt8(ascii: "_") else {
            throw RequestFailure(
                .badRequest, "Invalid zone name.",
                remedy: "Use 1 to 255 ASCII characters that do not begin with an underscore.")
        }
    }

    /// The name of a zone that a client refers to: as a new one, or `_defaultZone`.
    ///
    /// - Throws: `badRequest`.
    package static func zoneName(_ name: String) throws(RequestFailure) {
        if name != ZoneID.defaultZoneName { try newZoneName(name) }
    }
}
